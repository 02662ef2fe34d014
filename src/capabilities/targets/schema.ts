/** Targets on the wire, as they are answered. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import { shape } from '../../platform/http/index.ts';
import {
  BACKLOG_ORDERS,
  backlogOrderOf,
  COMMAND_LEVELS,
  type CommandSettings,
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
import { RECORDS_TOPIC } from './mqtt/record-messages.ts';
import { EXAMPLE_BODY, EXAMPLE_URL } from './request-schema.ts';

const { targets: limits } = LIMITS;

const rate = () => v.pipe(v.number(), v.minValue(0));

const errorShape = v.object({ message: v.string(), at: shape.instant() });

const statusShape = v.object({
  state: v.picklist(TARGET_STATES),
  lag_s: v.pipe(shape.count(), v.description('Age of the oldest sample that was not sent; 0: none waits.')),
  lag_samples: shape.count(),
  lag_records: v.pipe(shape.count(), v.description('Of what is carried besides telemetry.')),
  lag_bytes: v.pipe(shape.count(), v.description('By the size of what was sent so far.')),
  samples_per_second: rate(),
  bytes_per_second: rate(),
  sent_samples: shape.count(),
  sent_bytes: shape.count(),
  lost_samples: v.pipe(shape.count(), v.description('The history gave them up before they were sent.')),
  refused_samples: v.pipe(
    shape.count(),
    v.description('The target does not take them, while it takes others.'),
  ),
  sent_records: shape.count(),
  lost_records: v.pipe(shape.count(), v.description('Gone before they were sent.')),
  last_sent_at: v.optional(shape.instant()),
  last_error: v.optional(errorShape),
  commands: v.optional(
    v.pipe(
      v.object({
        connected: v.boolean(),
        executed: shape.count(),
        refused: shape.count(),
        last_error: v.optional(errorShape),
      }),
      v.description('Where commands may come from the target; counted since the gateway started.'),
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
  url: v.string(),
  measurement: v.string(),
  username: v.nullable(v.string()),
  has_secret: v.boolean(),
  token_scheme: v.picklist(TOKEN_SCHEMES),
  ca_pem: v.nullable(v.string()),
  compressed: v.boolean(),
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
  commands: v.nullable(
    v.object({
      devices: v.array(v.string()),
      level: v.picklist(COMMAND_LEVELS),
      topic: v.string(),
      per_minute: v.number(),
    }),
  ),
});

const folderShape = v.object({
  path: v.string(),
  is_mount: v.pipe(v.boolean(), v.description('Nothing is written while nothing is mounted there.')),
  piece_minutes: v.number(),
  compressed: v.boolean(),
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
    selection: v.object({
      contents: v.array(v.picklist(CONTENTS)),
      devices: nullableNames(),
      attributes: nullableNames(),
      interval_s: v.number(),
      on_change: v.boolean(),
      bytes_per_second_max: v.number(),
      processor_percent_max: v.number(),
      backlog_order: v.picklist(BACKLOG_ORDERS),
    }),
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
      reason: v.optional(v.pipe(v.string(), v.description('Why not, in a sentence.'))),
    }),
  }),
};

function settingsToWire(settings: TargetSettings, secrets: TargetSecrets) {
  const hasSecret = secrets.secret !== undefined;
  if (settings.kind === 'INFLUXDB')
    return {
      influxdb: {
        url: settings.url,
        measurement: settings.measurement,
        username: settings.username,
        has_secret: hasSecret,
        token_scheme: settings.tokenScheme,
        ca_pem: settings.caPem,
        compressed: settings.isCompressed,
      },
    };
  if (settings.kind === 'FOLDER')
    return {
      folder: {
        path: settings.path,
        is_mount: settings.isMount,
        piece_minutes: settings.pieceMinutes,
        compressed: settings.isCompressed,
      },
    };
  return {
    mqtt: {
      url: settings.url,
      client_id: settings.clientId,
      username: settings.username,
      has_secret: hasSecret,
      ca_pem: settings.caPem,
      certificate_pem: settings.certificatePem,
      has_private_key: secrets.privateKeyPem !== undefined,
      form: settings.form,
      topic: settings.topic,
      records_topic: settings.recordsTopic ?? RECORDS_TOPIC,
      payload: settings.payload,
      retain: settings.isRetained,
      discovery_prefix: settings.discoveryPrefix,
      host_id: settings.hostId ?? null,
      commands: commandsToWire(settings.commands),
    },
  };
}

const commandsToWire = (commands: CommandSettings | null | undefined) =>
  commands
    ? {
        devices: commands.devices,
        level: commands.level,
        topic: commands.topic,
        per_minute: commands.perMinute,
      }
    : null;

const errorToWire = (error: TargetStatus['lastError']) =>
  error && { last_error: { message: error.message, at: formatTimestamp(error.atMs) } };

export function targetToWire({ record, status }: ListedTarget): TargetOnWire {
  const { settings, secrets, selection } = record;
  return {
    id: record.id,
    name: record.name,
    kind: record.kind,
    enabled: record.isEnabled,
    ...settingsToWire(settings, secrets),
    selection: {
      contents: [...contentsOf(record)],
      devices: selection.devices,
      attributes: selection.attributes,
      interval_s: selection.intervalS,
      on_change: selection.isOnChange,
      bytes_per_second_max: selection.bytesPerSecondMax,
      processor_percent_max: selection.processorPercentMax,
      backlog_order: backlogOrderOf(record),
    },
    created_at: formatTimestamp(record.createdAtMs),
    updated_at: formatTimestamp(record.updatedAtMs),
    status: {
      state: status.state,
      lag_s: status.lagS,
      lag_samples: status.lagSamples,
      lag_records: status.lagRecords,
      lag_bytes: status.lagBytes,
      samples_per_second: status.samplesPerS,
      bytes_per_second: status.bytesPerS,
      sent_samples: status.samples,
      sent_bytes: status.bytes,
      lost_samples: status.lostSamples,
      refused_samples: status.refusedSamples,
      sent_records: status.records,
      lost_records: status.lostRecords,
      ...(status.lastSentAtMs !== undefined && { last_sent_at: formatTimestamp(status.lastSentAtMs) }),
      ...errorToWire(status.lastError),
      ...(status.commands && {
        commands: {
          connected: status.commands.isConnected,
          executed: status.commands.executed,
          refused: status.commands.refused,
          ...errorToWire(status.commands.lastError),
        },
      }),
    },
  };
}
