/** What callers say of targets. */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { parseTimestampMs } from '../../lib/timestamp.ts';
import { folderPathProblem } from '../../platform/files/index.ts';
import { shape } from '../../platform/http/index.ts';
import {
  CONTENTS,
  type FolderSettings,
  type InfluxdbSettings,
  MQTT_FORMS,
  type MqttSettings,
  type Selection,
  TARGET_KINDS,
  TOKEN_SCHEMES,
} from './model.ts';
import { RECORD_NAMES, TEMPLATE_NAMES, unknownNames } from './mqtt/templates.ts';
import { RECORDS_TOPIC } from './mqtt/record-messages.ts';
import type { NewTarget, SettingsChange, TargetChange } from './changes.ts';

const { targets: limits } = LIMITS;
const { nameLength } = LIMITS.http;

export const EXAMPLE_URL = 'http://metrics.example:8428/write';

const url = v.pipe(
  v.string(),
  v.maxLength(limits.urlLength, `must have at most ${limits.urlLength} characters`),
  v.check(
    (text) => isHttpUrl(text),
    'must be an address that begins with http:// or https://, without a login in it',
  ),
  v.description('Whole address of the write call, with database or bucket in its query.'),
  v.examples([EXAMPLE_URL]),
);

function isHttpUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}

const word = (about: string) =>
  v.pipe(v.string(), v.minLength(1), v.maxLength(nameLength), v.description(about));
const pem = v.pipe(
  v.string(),
  v.maxLength(limits.pemLength),
  v.check((text) => text.includes('-----BEGIN CERTIFICATE-----'), 'must be certificates in PEM'),
  v.description('Authorities to trust instead of those of the system, as PEM.'),
);

const influxdbFields = {
  measurement: v.nullish(
    word('Name of all lines; VictoriaMetrics puts it before the name of each attribute.'),
  ),
  username: v.pipe(
    v.nullish(v.pipe(v.string(), v.maxLength(nameLength))),
    v.description('With it `secret` is the password.'),
  ),
  secret: v.pipe(
    v.nullish(v.pipe(v.string(), v.minLength(1), v.maxLength(limits.secretLength))),
    v.description('Token or password. Never read again; null takes it away.'),
  ),
  token_scheme: v.nullish(v.picklist(TOKEN_SCHEMES)),
  ca_pem: v.nullish(pem),
  compressed: v.nullish(v.boolean()),
};

const timestampMs = v.pipe(
  v.string(),
  shape.wire(shape.WIRE.timestamp),
  v.rawTransform<string, number>(({ dataset, addIssue, NEVER }) => {
    const atMs = parseTimestampMs(dataset.value);
    if (atMs !== undefined && atMs >= 0) return atMs;
    addIssue({ message: 'must be an RFC 3339 timestamp such as 2026-03-01T08:00:00Z' });
    return NEVER;
  }),
);

const mqttUrl = v.pipe(
  v.string(),
  v.maxLength(limits.urlLength, `must have at most ${limits.urlLength} characters`),
  v.check((text) => isMqttUrl(text), 'must be mqtt:// or mqtts:// with a host and no login in it'),
  v.description('mqtts: over TLS.'),
  v.examples(['mqtts://broker.example:8883']),
);

function isMqttUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  return /^mqtts?:$/.test(protocol) && hostname !== '' && username === '' && password === '';
}

const template = (lengthMax: number, known: readonly string[] = TEMPLATE_NAMES) =>
  v.pipe(
    v.string(),
    v.minLength(1),
    v.maxLength(lengthMax),
    v.check(
      (text) => unknownNames(text, known).length === 0,
      ({ input }) => `knows {${known.join('}, {')}}, not {${unknownNames(input, known).join('}, {')}}`,
    ),
  );

const topic = v.pipe(
  template(limits.topicLength),
  v.check((text) => !/[+#\p{Cc}]/u.test(text), 'must not hold +, # or control characters'),
  v.description('PLAIN: template of the topic. HOME_ASSISTANT: begin of the topics of states.'),
);

const recordsTopic = v.pipe(
  template(limits.topicLength, RECORD_NAMES),
  v.check((text) => !/[+#\p{Cc}]/u.test(text), 'must not hold +, # or control characters'),
  v.description('PLAIN: template of the topic of what is carried besides telemetry.'),
  v.examples([RECORDS_TOPIC]),
);

const mqttFields = {
  client_id: v.pipe(
    v.nullish(v.pipe(v.string(), v.maxLength(nameLength))),
    v.description('Absent: the broker gives one.'),
  ),
  username: v.nullish(v.pipe(v.string(), v.maxLength(nameLength))),
  secret: v.pipe(
    v.nullish(v.pipe(v.string(), v.minLength(1), v.maxLength(limits.secretLength))),
    v.description('Password. Never read again; null takes it away.'),
  ),
  ca_pem: v.nullish(pem),
  certificate_pem: v.pipe(v.nullish(pem), v.description('Of the client, with `private_key_pem`.')),
  private_key_pem: v.pipe(
    v.nullish(v.pipe(v.string(), v.maxLength(limits.pemLength))),
    v.description('Never read again; null takes it away.'),
  ),
  form: v.nullish(v.picklist(MQTT_FORMS)),
  topic: v.nullish(topic),
  records_topic: v.nullish(recordsTopic),
  payload: v.pipe(
    v.nullish(template(limits.payloadLength)),
    v.description('PLAIN: template of the payload.'),
  ),
  retain: v.nullish(v.boolean()),
  discovery_prefix: v.nullish(topic),
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
  piece_minutes: v.pipe(
    v.nullish(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(limits.pieceMinutesMax))),
    v.description('What came in so many minutes is one file of each day; until then the gateway keeps it.'),
  ),
  compressed: v.nullish(v.boolean()),
};

const seconds = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(86_400));
const names = (about: string) =>
  v.pipe(
    v.nullish(
      v.pipe(
        v.array(v.pipe(v.string(), v.minLength(1), v.maxLength(limits.patternLength))),
        v.maxLength(limits.patternsMax),
      ),
    ),
    v.description(about),
  );

const selectionBody = v.object({
  contents: v.pipe(
    v.nullish(v.pipe(v.array(v.picklist(CONTENTS)), v.minLength(1), v.maxLength(CONTENTS.length))),
    v.description('Absent: telemetry. Everything else is carried from the moment that it is chosen.'),
  ),
  devices: names('Ids or slugs; null: all.'),
  attributes: names('Names of telemetry, `*` at the end for all that begin so; null: all.'),
  interval_s: v.pipe(
    v.nullish(seconds),
    v.description('At most one sample of a series in so many seconds; 0: all.'),
  ),
  on_change: v.pipe(v.nullish(v.boolean()), v.description('Only samples that differ from the one before.')),
  bytes_per_second_max: v.nullish(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(limits.bytesPerSecondLeast),
      v.maxValue(limits.bytesPerSecondMost),
    ),
  ),
  processor_percent_max: v.pipe(
    v.nullish(v.pipe(v.number(), v.minValue(1), v.maxValue(100))),
    v.description('Share of one processor for catching up.'),
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
const mqttBody = v.object({ url: mqttUrl, ...mqttFields });
const folderBody = v.object({ path: folderPath, ...folderFields });

export const createBody = v.pipe(
  v.object({
    ...common,
    kind: v.picklist(TARGET_KINDS, `must be one of: ${TARGET_KINDS.join(', ')}`),
    influxdb: v.pipe(v.nullish(shape.noList(influxdbBody)), v.description('Required for this kind.')),
    mqtt: v.pipe(v.nullish(shape.noList(mqttBody)), v.description('Required for this kind.')),
    folder: v.pipe(v.nullish(shape.noList(folderBody)), v.description('Required for this kind.')),
    history_from: v.pipe(
      v.nullish(timestampMs),
      v.description(
        'Samples stored before, measured since then, are sent too. Absent: only what comes from now on.',
      ),
    ),
  }),
  shape.example(EXAMPLE_BODY),
  v.check(
    (body) => newSettings(body) !== undefined,
    ({ input }) => `must have ${input.kind.toLowerCase()}`,
  ),
  v.transform((body): NewTarget => {
    const settings = newSettings(body) as NewTarget['settings'];
    return {
      name: body.name,
      isEnabled: body.enabled ?? true,
      settings,
      secrets: secretsOf(body),
      selection: {
        contents: body.selection?.contents ?? ['TELEMETRY'],
        devices: body.selection?.devices ?? null,
        attributes: body.selection?.attributes ?? null,
        intervalS: body.selection?.interval_s ?? 0,
        isOnChange: body.selection?.on_change ?? false,
        bytesPerSecondMax: body.selection?.bytes_per_second_max ?? limits.bytesPerSecondDefault,
        processorPercentMax: body.selection?.processor_percent_max ?? limits.processorPercentDefault,
        fromMs: body.history_from ?? 0,
      },
      withHistory: typeof body.history_from === 'number',
    };
  }),
);

interface SettingsBodies {
  influxdb?: v.InferOutput<typeof influxdbBody> | null | undefined;
  mqtt?: v.InferOutput<typeof mqttBody> | null | undefined;
  folder?: v.InferOutput<typeof folderBody> | null | undefined;
}

/** Undefined: what the kind needs is not there. */
function newSettings({ kind, influxdb, mqtt, folder }: SettingsBodies & { kind: string }) {
  if (kind === 'FOLDER') return folder ? newFolder(folder) : undefined;
  if (kind === 'INFLUXDB') return influxdb ? newInfluxdb(influxdb) : undefined;
  return mqtt ? newMqtt(mqtt) : undefined;
}

const newInfluxdb = (body: v.InferOutput<typeof influxdbBody>): InfluxdbSettings => ({
  kind: 'INFLUXDB',
  url: body.url,
  measurement: body.measurement ?? 'telemetry',
  username: body.username ?? null,
  tokenScheme: body.token_scheme ?? 'Token',
  caPem: body.ca_pem ?? null,
  isCompressed: body.compressed ?? true,
});

const newFolder = (body: v.InferOutput<typeof folderBody>): FolderSettings => ({
  kind: 'FOLDER',
  path: body.path,
  isMount: false,
  pieceMinutes: body.piece_minutes ?? limits.pieceMinutesDefault,
  isCompressed: body.compressed ?? false,
});

function newMqtt(body: v.InferOutput<typeof mqttBody>): MqttSettings {
  const isPlain = body.form !== 'HOME_ASSISTANT';
  return {
    kind: 'MQTT',
    url: body.url,
    clientId: body.client_id ?? '',
    username: body.username ?? null,
    caPem: body.ca_pem ?? null,
    certificatePem: body.certificate_pem ?? null,
    form: body.form ?? 'PLAIN',
    recordsTopic: body.records_topic ?? RECORDS_TOPIC,
    topic: body.topic ?? (isPlain ? '{site}/{device}/telemetry' : 'energy-gateway'),
    payload: body.payload ?? '{"timestamp":{timestamp},"values":{values}}',
    isRetained: body.retain ?? false,
    discoveryPrefix: body.discovery_prefix ?? 'homeassistant',
  };
}

function secretsOf({
  influxdb,
  mqtt,
}: Partial<
  Record<
    'influxdb' | 'mqtt',
    { secret?: string | null | undefined; private_key_pem?: string | null | undefined } | null | undefined
  >
>): TargetChange['secrets'] {
  const given = influxdb ?? mqtt;
  return given ? { secret: given.secret, privateKeyPem: given.private_key_pem } : undefined;
}

export const updateBody = v.pipe(
  v.object({
    ...common,
    name: v.nullish(shape.name()),
    influxdb: v.nullish(shape.noList(v.object({ url: v.nullish(url), ...influxdbFields }))),
    mqtt: v.nullish(shape.noList(v.object({ url: v.nullish(mqttUrl), ...mqttFields }))),
    folder: v.nullish(shape.noList(v.object({ path: v.nullish(folderPath), ...folderFields }))),
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

type Optional<Body> = { [Name in keyof Body]?: Body[Name] | null | undefined };

function settingsChange({
  influxdb,
  mqtt,
  folder,
}: {
  influxdb?: Optional<v.InferOutput<typeof influxdbBody>> | null | undefined;
  mqtt?: Optional<v.InferOutput<typeof mqttBody>> | null | undefined;
  folder?: Optional<v.InferOutput<typeof folderBody>> | null | undefined;
}): SettingsChange | undefined {
  if (influxdb)
    return {
      kind: 'INFLUXDB',
      url: influxdb.url ?? undefined,
      measurement: influxdb.measurement ?? undefined,
      username: influxdb.username,
      tokenScheme: influxdb.token_scheme ?? undefined,
      caPem: influxdb.ca_pem,
      isCompressed: influxdb.compressed ?? undefined,
    };
  if (folder)
    return {
      kind: 'FOLDER',
      path: folder.path ?? undefined,
      pieceMinutes: folder.piece_minutes ?? undefined,
      isCompressed: folder.compressed ?? undefined,
    };
  if (!mqtt) return undefined;
  return {
    kind: 'MQTT',
    url: mqtt.url ?? undefined,
    clientId: mqtt.client_id ?? undefined,
    username: mqtt.username,
    caPem: mqtt.ca_pem,
    certificatePem: mqtt.certificate_pem,
    form: mqtt.form ?? undefined,
    topic: mqtt.topic ?? undefined,
    recordsTopic: mqtt.records_topic ?? undefined,
    payload: mqtt.payload ?? undefined,
    isRetained: mqtt.retain ?? undefined,
    discoveryPrefix: mqtt.discovery_prefix ?? undefined,
  };
}

function selectionChange(selection: v.InferOutput<typeof selectionBody>): Partial<Selection> {
  return {
    contents: selection.contents ?? undefined,
    devices: selection.devices,
    attributes: selection.attributes,
    intervalS: selection.interval_s ?? undefined,
    isOnChange: selection.on_change ?? undefined,
    bytesPerSecondMax: selection.bytes_per_second_max ?? undefined,
    processorPercentMax: selection.processor_percent_max ?? undefined,
  };
}
