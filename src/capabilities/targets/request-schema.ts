/** Request bodies of targets. */
import * as v from 'valibot';
import { plainUrl } from '../../lib/address.ts';
import { LIMITS } from '../../lib/limits.ts';
import { camelMembers, withoutNull } from '../../lib/members.ts';
import { folderPathProblem } from '../../platform/files/index.ts';
import { shape } from '../../platform/http/index.ts';
import type { NewTarget, SettingsChange, TargetChange } from './changes.ts';
import {
  BACKLOG_ORDERS,
  CONTENTS,
  type Selection,
  TARGET_KINDS,
  type TargetSettings,
  TOKEN_SCHEMES,
} from './model.ts';
import { mqttBody, type MqttChangeBody, mqttChange, mqttChangeBody, newMqtt } from './mqtt/mqtt-schema.ts';
import { pem, timestampMs } from './wire-fields.ts';

const { targets: limits } = LIMITS;
const { nameLength } = LIMITS.http;

export const EXAMPLE_URL = 'http://metrics.example:8428/write';

const url = v.pipe(
  v.string(),
  v.maxLength(limits.urlLength, `must have at most ${limits.urlLength} characters`),
  v.check(
    (text) => plainUrl(text, 'http:', 'https:') !== undefined,
    'must be an address that begins with http:// or https://, without a login in it',
  ),
  v.description('Whole address of the write call, with database or bucket in its query.'),
  v.examples([EXAMPLE_URL]),
);

const influxdbFields = {
  measurement: v.nullish(
    v.pipe(
      shape.text(nameLength),
      v.check((text) => !text.startsWith('#'), 'must not begin with #: engines pass over such lines'),
      v.description('Name of all lines; VictoriaMetrics puts it before the name of each attribute.'),
    ),
  ),
  username: shape.about(
    v.nullish(v.pipe(v.string(), v.maxLength(nameLength))),
    'With it `secret` is the password.',
  ),
  secret: shape.about(
    v.nullish(shape.text(limits.secretLength)),
    'Token or password. Never read again; null takes it away.',
  ),
  token_scheme: v.nullish(v.picklist(TOKEN_SCHEMES)),
  ca_pem: v.nullish(pem),
  compressed: v.nullish(v.boolean()),
};

const folderPath = v.pipe(
  v.string(),
  v.maxLength(limits.urlLength, `must have at most ${limits.urlLength} characters`),
  v.check(
    (text) => folderPathProblem(text) === undefined,
    ({ input }) => folderPathProblem(input) ?? '',
  ),
  v.description('A folder that is there: of a stick, another disk, a network drive.'),
  v.examples(['/media/stick']),
);

const folderFields = {
  piece_minutes: shape.about(
    v.nullish(shape.whole(1, limits.pieceMinutesMax)),
    'What came in so many minutes is one file of each day; until then the gateway keeps it.',
  ),
  compressed: v.nullish(v.boolean()),
};

const seconds = shape.whole(0, 86_400);
const names = (about: string) =>
  shape.about(
    v.nullish(v.pipe(v.array(shape.text(limits.patternLength)), v.maxLength(limits.patternsMax))),
    about,
  );

const selectionBody = v.object({
  contents: shape.about(
    v.nullish(v.pipe(v.array(v.picklist(CONTENTS)), v.minLength(1), v.maxLength(CONTENTS.length))),
    'Absent: telemetry. Everything else is carried from the moment that it is chosen.',
  ),
  devices: names('Ids or slugs; null or []: all.'),
  attributes: names('Names of telemetry, `*` at the end for all that begin so; null or []: all.'),
  interval_s: shape.about(v.nullish(seconds), 'At most one sample of a series in so many seconds; 0: all.'),
  on_change: shape.about(v.nullish(v.boolean()), 'Only samples that differ from the one before.'),
  bytes_per_second_max: v.nullish(shape.whole(limits.bytesPerSecondLeast, limits.bytesPerSecondMost)),
  processor_percent_max: shape.about(
    v.nullish(v.pipe(v.number(), v.minValue(1), v.maxValue(100))),
    'Share of one processor for catching up.',
  ),
  backlog_order: shape.about(
    v.nullish(v.picklist(BACKLOG_ORDERS)),
    'What was missed; NEWEST_FIRST sends what comes now at once, and the rest behind it.',
  ),
});

const common = {
  name: shape.name(),
  enabled: v.nullish(v.boolean()),
  selection: v.nullish(shape.noList(selectionBody)),
};

export const EXAMPLE_BODY = {
  name: 'fleet',
  kind: 'INFLUXDB',
  influxdb: { url: EXAMPLE_URL, measurement: 'telemetry', secret: 'a token' },
  selection: { interval_s: 0, on_change: false },
  history_from: '2026-03-01T00:00:00Z',
};

const influxdbBody = v.object({ url, ...influxdbFields });
const influxdbChangeBody = v.object({ url: v.nullish(url), ...influxdbFields });
const folderBody = v.object({ path: folderPath, ...folderFields });
const folderChangeBody = v.object({ path: v.nullish(folderPath), ...folderFields });

interface SettingsBodies {
  influxdb?: v.InferOutput<typeof influxdbChangeBody> | null | undefined;
  mqtt?: MqttChangeBody | null | undefined;
  folder?: v.InferOutput<typeof folderChangeBody> | null | undefined;
}

const MEMBERS = { INFLUXDB: 'influxdb', MQTT: 'mqtt', FOLDER: 'folder' } as const;

/** A target as a caller names it, with its secrets. */
export const newTargetBody = v.pipe(
  v.object({
    ...common,
    kind: shape.oneOf(TARGET_KINDS),
    influxdb: shape.about(v.nullish(shape.noList(influxdbBody)), 'Required for this kind.'),
    mqtt: shape.about(v.nullish(shape.noList(mqttBody)), 'Required for this kind.'),
    folder: shape.about(v.nullish(shape.noList(folderBody)), 'Required for this kind.'),
    history_from: shape.about(
      v.nullish(timestampMs),
      'Samples stored before, measured since then, are sent too. Absent: only what comes from now on.',
    ),
  }),
  shape.example(EXAMPLE_BODY),
  shape.requireMember(({ kind, ...body }) =>
    body[MEMBERS[kind]] ? undefined : { name: MEMBERS[kind], why: `is required for the kind ${kind}` },
  ),
  v.transform((body): NewTarget => {
    // A member of another kind counts for nothing.
    const given = { [MEMBERS[body.kind]]: body[MEMBERS[body.kind]] };
    return {
      name: body.name,
      isEnabled: body.enabled ?? true,
      settings: newSettings(settingsChange(given)),
      secrets: secretsOf(given),
      selection: {
        contents: ['TELEMETRY'],
        devices: null,
        attributes: null,
        intervalS: 0,
        isOnChange: false,
        bytesPerSecondMax: limits.bytesPerSecondDefault,
        processorPercentMax: limits.processorPercentDefault,
        backlogOrder: 'OLDEST_FIRST',
        ...selectionChange(body.selection ?? {}),
        fromMs: body.history_from ?? 0,
      },
      withHistory: typeof body.history_from === 'number',
    };
  }),
);

/** Absent members get their default; the address is always there. */
function newSettings(change: SettingsChange | undefined): TargetSettings {
  if (change?.kind === 'MQTT') return newMqtt(change);
  const defaults =
    change?.kind === 'FOLDER'
      ? { isMount: false, pieceMinutes: limits.pieceMinutesDefault, isCompressed: false }
      : { measurement: 'telemetry', username: null, tokenScheme: 'Token', caPem: null, isCompressed: true };
  return { ...defaults, ...change } as TargetSettings;
}

function secretsOf({ influxdb, mqtt }: SettingsBodies): TargetChange['secrets'] {
  const given = influxdb ?? mqtt;
  return given ? { secret: given.secret, privateKeyPem: mqtt?.private_key_pem } : undefined;
}

export const updateBody = v.pipe(
  v.object({
    ...common,
    name: v.nullish(shape.name()),
    influxdb: v.nullish(shape.noList(influxdbChangeBody)),
    mqtt: v.nullish(shape.noList(mqttChangeBody)),
    folder: v.nullish(shape.noList(folderChangeBody)),
  }),
  shape.example({ enabled: false }),
  v.transform(({ name, enabled, influxdb, mqtt, folder, selection }): TargetChange => ({
    name: name ?? undefined,
    isEnabled: enabled ?? undefined,
    settings: settingsChange({ influxdb, mqtt, folder }),
    secrets: secretsOf({ influxdb, mqtt }),
    selection: selection ? selectionChange(selection) : undefined,
  })),
);

/** Null removes a member that may be null; for any other member it means the same as absent. */
function settingsChange({ influxdb, mqtt, folder }: SettingsBodies): SettingsChange | undefined {
  if (influxdb) {
    const { secret: _, compressed, ...members } = influxdb;
    const change = { ...camelMembers(members), isCompressed: compressed };
    return { kind: 'INFLUXDB', ...withoutNull(change, 'username', 'caPem') };
  }
  if (folder) {
    const { compressed, ...members } = folder;
    return { kind: 'FOLDER', ...withoutNull({ ...camelMembers(members), isCompressed: compressed }) };
  }
  return mqtt ? mqttChange(mqtt) : undefined;
}

function selectionChange({
  on_change: isOnChange,
  ...members
}: v.InferOutput<typeof selectionBody>): Partial<Selection> {
  return withoutNull({ ...camelMembers(members), isOnChange }, 'devices', 'attributes');
}
