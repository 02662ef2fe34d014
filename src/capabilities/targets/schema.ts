/** Targets on the wire, as they are answered. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { shape } from '../../platform/http/index.ts';
import {
  BACKLOG_ORDERS,
  backlogOrderOf,
  COMMAND_LEVELS,
  CONTENTS,
  contentsOf,
  type ListedTarget,
  MQTT_FORMS,
  TARGET_KINDS,
  TARGET_STATES,
  type TargetSecrets,
  type TargetSettings,
  type TargetStatus,
  TOKEN_SCHEMES,
} from './model.ts';
import { RECORDS_TOPIC } from './mqtt/plain-messages.ts';
import { EXAMPLE_BODY, EXAMPLE_URL } from './request-schema.ts';

const { targets: limits } = LIMITS;

const rate = () => v.pipe(v.number(), v.minValue(0));

const errorShape = v.object({ message: v.string(), at: shape.instant() });

const commandStatusShape = v.object({
  connected: v.boolean(),
  executed: shape.count(),
  refused: shape.count(),
  last_error: v.optional(errorShape),
});

const statusShape = v.object({
  state: v.picklist(TARGET_STATES),
  lag_s: shape.about(shape.count(), 'Age of the oldest sample that was not sent; 0: none waits.'),
  lag_samples: shape.count(),
  lag_records: shape.about(shape.count(), 'Of what is carried besides telemetry.'),
  lag_bytes: shape.about(shape.count(), 'By the size of what was sent so far.'),
  samples_per_second: rate(),
  bytes_per_second: rate(),
  sent_samples: shape.count(),
  sent_bytes: shape.count(),
  lost_samples: shape.about(shape.count(), 'The history gave them up before they were sent.'),
  refused_samples: shape.about(shape.count(), 'The target does not take them, while it takes others.'),
  sent_records: shape.count(),
  lost_records: shape.about(shape.count(), 'Gone before they were sent.'),
  last_sent_at: v.optional(shape.instant()),
  last_error: v.optional(errorShape),
  commands: v.optional(
    shape.about(
      commandStatusShape,
      'Where commands may come from the target; counted since the gateway started.',
    ),
  ),
});

const EXAMPLE_STATUS = {
  state: 'CURRENT' as const,
  lag_s: 1,
  lag_samples: 40,
  lag_records: 0,
  lag_bytes: 520,
  samples_per_second: 40,
  bytes_per_second: 520,
  sent_samples: 1_200_000,
  sent_bytes: 15_600_000,
  lost_samples: 0,
  refused_samples: 0,
  sent_records: 0,
  lost_records: 0,
  last_sent_at: '2026-03-01T08:00:00.123Z',
};

const nullableNames = () => v.nullable(v.array(v.string()));

const influxdbShape = v.object({
  url: shape.about(v.string(), 'With *** for what may be a secret; given back so, it stays as it is.'),
  measurement: v.string(),
  username: v.nullable(v.string()),
  has_secret: v.boolean(),
  token_scheme: v.picklist(TOKEN_SCHEMES),
  ca_pem: v.nullable(v.string()),
  compressed: v.boolean(),
});

const commandsShape = v.object({
  devices: v.array(v.string()),
  level: v.picklist(COMMAND_LEVELS),
  topic: v.string(),
  per_minute: v.number(),
});

const mqttShape = v.object({
  url: v.string(),
  client_id: v.string(),
  username: v.nullable(v.string()),
  has_secret: v.boolean(),
  ca_pem: v.nullable(v.string()),
  certificate_pem: v.nullable(v.string()),
  has_private_key: v.boolean(),
  form: v.picklist(MQTT_FORMS),
  topic: v.string(),
  records_topic: v.string(),
  payload: v.string(),
  retain: v.boolean(),
  discovery_prefix: v.string(),
  host_id: v.nullable(v.string()),
  commands: v.nullable(commandsShape),
});

const folderShape = v.object({
  path: v.string(),
  is_mount: shape.about(v.boolean(), 'Nothing is written while nothing is mounted there.'),
  piece_minutes: v.number(),
  compressed: v.boolean(),
});

const selectionShape = v.object({
  contents: v.array(v.picklist(CONTENTS)),
  devices: nullableNames(),
  attributes: nullableNames(),
  interval_s: v.number(),
  on_change: v.boolean(),
  bytes_per_second_max: v.number(),
  processor_percent_max: v.number(),
  backlog_order: v.picklist(BACKLOG_ORDERS),
});

const targetShape = shape.named(
  'Target',
  v.object({
    id: shape.id(),
    name: v.string(),
    kind: v.picklist(TARGET_KINDS),
    enabled: v.boolean(),
    influxdb: v.optional(influxdbShape),
    mqtt: v.optional(mqttShape),
    folder: v.optional(folderShape),
    selection: selectionShape,
    created_at: shape.instant(),
    updated_at: shape.instant(),
    status: statusShape,
  }),
  {
    id: '7c1d8a3e-5f2b-4b6a-9a55-3b1f0f7a1c22',
    name: EXAMPLE_BODY.name,
    kind: 'INFLUXDB',
    enabled: true,
    influxdb: {
      url: EXAMPLE_URL,
      measurement: 'telemetry',
      username: null,
      has_secret: true,
      token_scheme: 'Token',
      ca_pem: null,
      compressed: true,
    },
    selection: {
      contents: ['TELEMETRY'],
      devices: null,
      attributes: null,
      interval_s: 0,
      on_change: false,
      bytes_per_second_max: limits.bytesPerSecondDefault,
      processor_percent_max: limits.processorPercentDefault,
      backlog_order: 'OLDEST_FIRST',
    },
    created_at: '2026-03-01T08:00:00.123Z',
    updated_at: '2026-03-01T08:00:00.123Z',
    status: EXAMPLE_STATUS,
  },
);

export type TargetOnWire = v.InferOutput<typeof targetShape>;

export const targetShapes = {
  one: v.object({ target: targetShape }),
  list: shape.listOf('targets', targetShape),
  test: v.object({
    test: v.object({
      accepted: v.boolean(),
      reason: v.optional(shape.about(v.string(), 'Why not, in a sentence.')),
    }),
  }),
};

function settingsToWire(settings: TargetSettings, secrets: TargetSecrets) {
  const hasSecret = secrets.secret !== undefined;
  if (settings.kind === 'INFLUXDB')
    return {
      influxdb: shape.filled(influxdbShape, { ...settings, url: shownUrl(settings.url), hasSecret }),
    };
  if (settings.kind === 'FOLDER') return { folder: shape.filled(folderShape, settings) };
  const { commands, isRetained, recordsTopic = RECORDS_TOPIC } = settings;
  const hasPrivateKey = secrets.privateKeyPem !== undefined;
  return {
    mqtt: {
      ...shape.filled(mqttShape, {
        ...settings,
        url: shownUrl(settings.url),
        recordsTopic,
        hasSecret,
        hasPrivateKey,
      }),
      retain: isRetained,
      commands: commands ? shape.filled(commandsShape, commands) : null,
    },
  };
}

function withErrorOnWire<Status extends Pick<TargetStatus, 'lastError'>>(status: Status) {
  return { ...status, lastError: status.lastError && shape.filled(errorShape, status.lastError) };
}

function statusToWire({ commands, ...status }: TargetStatus) {
  return {
    ...shape.filled(statusShape, withErrorOnWire(status)),
    samples_per_second: status.samplesPerS,
    bytes_per_second: status.bytesPerS,
    sent_samples: status.samples,
    sent_bytes: status.bytes,
    sent_records: status.records,
    ...(commands && { commands: shape.filled(commandStatusShape, withErrorOnWire(commands)) }),
  };
}

export function targetToWire({ record, status }: ListedTarget): TargetOnWire {
  const { settings, secrets, selection } = record;
  return {
    ...shape.filled(targetShape, record),
    ...settingsToWire(settings, secrets),
    selection: {
      ...shape.filled(selectionShape, selection),
      contents: [...contentsOf(record)],
      backlog_order: backlogOrderOf(record),
    },
    status: statusToWire(status),
  };
}
