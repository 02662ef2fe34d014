/** Accounts of MQTT clients of other makers on the wire. Source: docs/interface/http.md#mqtt-accounts. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import { deviceName } from '../devices/index.ts';
import { type MqttGuest, topicProblem } from './model.ts';
import type { GuestRefusal } from './service.ts';

const USERNAME = /^[A-Za-z0-9._@-]{1,64}$/;
const PASSWORD = /^[\x20-\x7e]{12,128}$/;

const EXAMPLE = {
  name: 'Plug in the hall',
  username: 'plug-hall',
  topics: ['tele/plug-hall', 'stat/plug-hall/#'],
};

const username = v.pipe(
  v.string(),
  v.regex(USERNAME, 'must have 1 to 64 letters, digits, dots, hyphens, underscores or @'),
);

const password = v.pipe(
  v.nullish(v.pipe(v.string(), v.regex(PASSWORD, 'must have 12 to 128 printable ASCII characters'))),
  v.description('Absent: one is made.'),
);

const topic = v.pipe(
  shape.text(256),
  v.rawCheck(({ dataset, addIssue }) => {
    const problem = dataset.typed ? topicProblem(dataset.value) : undefined;
    if (problem !== undefined) addIssue({ message: problem });
  }),
);

const topics = v.pipe(
  v.array(topic),
  v.minLength(1, 'must not be empty'),
  v.maxLength(LIMITS.mqttGuests.topics),
  v.description('Topic filters; a topic without a wildcard stands for itself and everything below it.'),
);

export const newGuestBody = v.pipe(
  v.object({ name: deviceName, username, password, topics }),
  shape.example(EXAMPLE),
);

export const updateGuestBody = v.pipe(
  v.object({ name: v.optional(deviceName), username: v.optional(username), topics: v.optional(topics) }),
  shape.example({ topics: EXAMPLE.topics }),
);

export const passwordBody = v.pipe(v.object({ password }), shape.example({ password: null }));

export const listGuestsQuery = v.object(query.page());

const guestShape = shape.named(
  'MqttGuest',
  v.object({
    id: shape.id(),
    name: v.string(),
    username: v.string(),
    topics: v.array(v.string()),
    created_at: shape.instant(),
    connected: v.boolean(),
    last_refusal: v.optional(
      shape.about(
        v.object({
          what: v.picklist(['login', 'publish', 'subscribe', 'will']),
          topic: v.string(),
          at: shape.instant(),
        }),
        'What it tried outside its topics, since the start or the last change.',
      ),
    ),
  }),
  {
    id: '7d0f2d1e-3c57-4a0b-8a6b-1f0d6f2f5c10',
    ...EXAMPLE,
    topics: ['tele/plug-hall/#', 'stat/plug-hall/#'],
    created_at: '2026-03-01T08:00:00.000Z',
    connected: true,
  },
);

/** An account as it is answered. */
type MqttGuestOnWire = v.InferOutput<typeof guestShape>;

const credentials = {
  password: shape.about(v.string(), 'Shown only once.'),
  mqtt_host: v.string(),
  mqtt_port: shape.about(shape.whole(1, 65_535), 'Of the plain listener.'),
};

export const guestShapes = {
  one: v.object({ mqtt_guest: guestShape }),
  made: v.object({ mqtt_guest: guestShape, ...credentials }),
  list: shape.listOf('mqtt_guests', guestShape),
};

/** A new account with its password. */
export type MadeGuestOnWire = v.InferOutput<typeof guestShapes.made>;

export function guestToWire(
  guest: MqttGuest,
  { isConnected, refusal }: { isConnected: boolean; refusal: GuestRefusal | undefined },
): MqttGuestOnWire {
  const { id, name, username: user, topics: filters, createdAtMs } = guest;
  return {
    id,
    name,
    username: user,
    topics: [...filters],
    created_at: formatTimestamp(createdAtMs),
    connected: isConnected,
    ...(refusal && {
      last_refusal: { what: refusal.what, topic: refusal.topic, at: formatTimestamp(refusal.atMs) },
    }),
  };
}
