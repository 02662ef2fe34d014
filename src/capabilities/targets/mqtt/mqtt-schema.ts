/** Request bodies of targets that are brokers. */
import * as v from 'valibot';
import { plainUrl } from '../../../lib/address.ts';
import { LIMITS } from '../../../lib/limits.ts';
import { camelMembers, withoutNull } from '../../../lib/members.ts';
import { shape } from '../../../platform/http/index.ts';
import type { SettingsChange } from '../changes.ts';
import {
  COMMAND_LEVELS,
  type CommandSettings,
  DEFAULT_TOPICS,
  MQTT_FORMS,
  type MqttSettings,
} from '../model.ts';
import { pem } from '../wire-fields.ts';
import { RECORD_NAMES, RECORDS_TOPIC, SITE_NAMES, TEMPLATE_NAMES, unknownNames } from './plain-messages.ts';

const { targets: limits } = LIMITS;
const { commands: commandLimits } = limits;
const { nameLength } = LIMITS.http;

type MqttChange = SettingsChange & { kind: 'MQTT' };

/** Default of the topic of commands. */
const COMMANDS_TOPIC = '{site}/commands';

const mqttUrl = v.pipe(
  v.string(),
  v.maxLength(limits.urlLength, `must have at most ${limits.urlLength} characters`),
  v.check(
    (text) => Boolean(plainUrl(text, 'mqtt:', 'mqtts:')?.hostname),
    'must be mqtt:// or mqtts:// with a host and no login in it',
  ),
  v.description('mqtts: over TLS.'),
  v.examples(['mqtts://broker.example:8883']),
);

const template = (lengthMax: number, known: readonly string[] = TEMPLATE_NAMES) =>
  v.pipe(
    shape.text(lengthMax),
    v.check(
      (text) => unknownNames(text, known).length === 0,
      ({ input }) => `knows {${known.join('}, {')}}, not {${unknownNames(input, known).join('}, {')}}`,
    ),
  );

const topicTemplate = (about: string, known?: readonly string[]) =>
  v.pipe(
    template(limits.topicLength, known),
    v.check((text) => !/[+#\p{Cc}]/u.test(text), 'must not hold +, # or control characters'),
    v.description(about),
  );

const topic = topicTemplate(
  'PLAIN: template of the topic. HOME_ASSISTANT: begin of the topics of states. SPARKPLUG_B: the group.',
);

const commandsTopic = v.pipe(
  topicTemplate('Requests come on `<topic>/requests`, answers go to `<topic>/responses`.', SITE_NAMES),
  v.examples([COMMANDS_TOPIC]),
);

const recordsTopic = v.pipe(
  topicTemplate('PLAIN: template of the topic of what is carried besides telemetry.', RECORD_NAMES),
  v.examples([RECORDS_TOPIC]),
);

const commandsBody = v.pipe(
  v.object({
    devices: v.pipe(
      v.array(shape.text(nameLength)),
      v.minLength(1, 'must name at least one device'),
      v.maxLength(limits.patternsMax),
      v.description('Ids or slugs of the devices that may be commanded from there.'),
    ),
    level: shape.about(
      v.nullish(v.picklist(COMMAND_LEVELS)),
      'Role of whoever sends them; the access level of each command decides.',
    ),
    topic: v.nullish(commandsTopic),
    per_minute: shape.about(
      v.nullish(shape.whole(1, commandLimits.perMinuteMax)),
      'Requests that are taken in a minute.',
    ),
  }),
  v.transform((body): CommandSettings => ({
    devices: body.devices,
    level: body.level ?? 'USER',
    topic: body.topic ?? COMMANDS_TOPIC,
    perMinute: body.per_minute ?? commandLimits.perMinuteDefault,
  })),
);

const mqttFields = {
  client_id: shape.about(
    v.nullish(v.pipe(v.string(), v.maxLength(nameLength))),
    'Absent: the broker gives one.',
  ),
  username: v.nullish(v.pipe(v.string(), v.maxLength(nameLength))),
  secret: shape.about(
    v.nullish(shape.text(limits.secretLength)),
    'Password. Never read again; null takes it away.',
  ),
  ca_pem: v.nullish(pem),
  certificate_pem: shape.about(v.nullish(pem), 'Of the client, with `private_key_pem`.'),
  private_key_pem: shape.about(
    v.nullish(v.pipe(v.string(), v.maxLength(limits.pemLength))),
    'Never read again; null takes it away.',
  ),
  form: v.nullish(v.picklist(MQTT_FORMS)),
  topic: v.nullish(topic),
  records_topic: v.nullish(recordsTopic),
  payload: shape.about(v.nullish(template(limits.payloadLength)), 'PLAIN: template of the payload.'),
  retain: v.nullish(v.boolean()),
  discovery_prefix: v.nullish(topic),
  host_id: shape.about(
    v.nullish(
      v.pipe(
        shape.text(nameLength),
        v.check((text) => !/[/+#\p{Cc}]/u.test(text), 'must not hold /, +, # or control characters'),
      ),
    ),
    'SPARKPLUG_B: while this host application is not online, everything waits here.',
  ),
  commands: shape.about(
    v.nullish(shape.noList(commandsBody)),
    'Commands that come from there; absent or null: none.',
  ),
};

export const mqttBody = v.object({ url: mqttUrl, ...mqttFields });
export const mqttChangeBody = v.object({ url: v.nullish(mqttUrl), ...mqttFields });
export type MqttChangeBody = v.InferOutput<typeof mqttChangeBody>;

/** Absent members get their default; the address is always there. */
export function newMqtt(change: MqttChange): MqttSettings {
  const { form = 'PLAIN' } = change;
  const defaults = {
    clientId: '',
    username: null,
    caPem: null,
    certificatePem: null,
    form,
    recordsTopic: RECORDS_TOPIC,
    topic: DEFAULT_TOPICS[form],
    payload: '{"timestamp":{timestamp},"values":{values}}',
    isRetained: false,
    discoveryPrefix: 'homeassistant',
    hostId: null,
    commands: null,
  };
  return { ...defaults, ...change } as MqttSettings;
}

/** Null removes a member that may be null; for any other member it means the same as absent. */
export function mqttChange(body: MqttChangeBody): MqttChange {
  const { secret: _secret, private_key_pem: _privateKeyPem, retain, ...members } = body;
  const change = { ...camelMembers(members), isRetained: retain };
  const nullable = ['username', 'caPem', 'certificatePem', 'hostId', 'commands'] as const;
  return { kind: 'MQTT', ...withoutNull(change, ...nullable) };
}
