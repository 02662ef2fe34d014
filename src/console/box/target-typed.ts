/** The input of a target's form, and the body that is sent. Pure. */
import type { Target } from '../shapes.ts';
import { edgesOf } from '../period.ts';
import { textOfNumber, typedNumber } from '../typed-number.ts';
import { zone } from '../zone.ts';

export type Typed = Readonly<ReturnType<typeof typedOf>>;

/** @param idOf of a device that is named by its slug */
export function typedOf(target: Target | undefined, idOf: (name: string) => string) {
  const { influxdb, mqtt, folder, selection } = target ?? {};
  const some = influxdb ?? mqtt;
  return {
    kind: target?.kind ?? 'INFLUXDB',
    name: target?.name ?? '',
    /** Address, or path of a folder. */
    url: some?.url ?? folder?.path ?? '',
    username: some?.username ?? '',
    /** Token or password; empty: as it is. */
    secret: '',
    caPem: some?.ca_pem ?? '',
    /** Fields of line protocol. */
    measurement: influxdb?.measurement ?? 'telemetry',
    tokenScheme: influxdb?.token_scheme ?? 'Token',
    /** Fields of a folder. */
    pieceMinutes: folder ? String(folder.piece_minutes) : '',
    /** Fields of MQTT. */
    form: mqtt?.form ?? 'PLAIN',
    topic: mqtt?.topic ?? '',
    payload: mqtt?.payload ?? '',
    isRetained: mqtt?.retain ?? false,
    /** Fields of Sparkplug. */
    hostId: mqtt?.host_id ?? '',
    certificatePem: mqtt?.certificate_pem ?? '',
    privateKeyPem: '',
    takesCommands: Boolean(mqtt?.commands),
    commandDeviceIds: (mqtt?.commands?.devices ?? []).map(idOf) as readonly string[],
    commandLevel: mqtt?.commands?.level ?? 'USER',
    commandTopic: mqtt?.commands?.topic ?? '',
    /** The selection of telemetry. */
    deviceIds: (selection?.devices ?? []).map(idOf) as readonly string[],
    attributes: (selection?.attributes ?? []).join(', '),
    intervalS: String(selection?.interval_s ?? 0),
    isOnChange: selection?.on_change ?? false,
    kilobytesPerSecond: selection ? textOfNumber(selection.bytes_per_second_max / 1_000) : '',
    /** In which order a backlog is sent. */
    backlogOrder: selection?.backlog_order ?? 'OLDEST_FIRST',
    /** Stored telemetry since this day is sent too; empty: only new telemetry. */
    historyFrom: '',
  };
}

/** Retained states and daily files would be wrong with older values after newer ones. */
export const takesNewestFirst = ({ kind, form }: Pick<Typed, 'kind' | 'form'>): boolean =>
  kind === 'INFLUXDB' || (kind === 'MQTT' && form !== 'HOME_ASSISTANT');

const orNull = (text: string): string | null => (text.trim() === '' ? null : text.trim());
const orAsItIs = (text: string): string | undefined => (text.trim() === '' ? undefined : text);

export function bodyOf(typed: Typed, target: Target | undefined): Record<string, unknown> {
  const attributes = typed.attributes.split(/[\s,]+/).filter((name) => name !== '');
  const from =
    typed.historyFrom === '' ? undefined : new Date(edgesOf(typed.historyFrom, zone.value)[0]).toISOString();
  return {
    name: typed.name,
    ...(!target && { kind: typed.kind, history_from: from }),
    ...settingsOf(typed, target),
    selection: {
      devices: typed.deviceIds.length === 0 ? null : typed.deviceIds,
      attributes: attributes.length === 0 ? null : attributes,
      interval_s: Number(typed.intervalS),
      on_change: typed.isOnChange,
      backlog_order: takesNewestFirst(typed) ? typed.backlogOrder : 'OLDEST_FIRST',
      ...(typed.kilobytesPerSecond !== '' && {
        bytes_per_second_max: Math.round((typedNumber(typed.kilobytesPerSecond) ?? 0) * 1_000),
      }),
    },
  };
}

function settingsOf(typed: Typed, target: Target | undefined): Record<string, unknown> {
  switch (typed.kind) {
    case 'INFLUXDB':
      return { influxdb: influxdbOf(typed) };
    case 'MQTT':
      return { mqtt: mqttOf(typed, target) };
    default:
      return { folder: folderOf(typed) };
  }
}

const folderOf = ({ url, pieceMinutes }: Typed) => ({
  path: url.trim(),
  piece_minutes: pieceMinutes === '' ? undefined : Number(pieceMinutes),
});

const common = (typed: Typed) => ({
  url: typed.url.trim(),
  username: orNull(typed.username),
  secret: orAsItIs(typed.secret),
  ca_pem: orNull(typed.caPem),
});

const influxdbOf = (typed: Typed) => ({
  ...common(typed),
  measurement: orAsItIs(typed.measurement),
  token_scheme: typed.tokenScheme,
});

const commandsOf = (typed: Typed, target: Target | undefined) =>
  typed.takesCommands
    ? {
        devices: typed.commandDeviceIds,
        level: typed.commandLevel,
        topic: orAsItIs(typed.commandTopic),
        per_minute: target?.mqtt?.commands?.per_minute,
      }
    : null;

const mqttOf = (typed: Typed, target: Target | undefined) => ({
  ...common(typed),
  form: typed.form,
  topic: orAsItIs(typed.topic),
  ...(typed.form === 'PLAIN' && { payload: orAsItIs(typed.payload), retain: typed.isRetained }),
  ...(typed.form === 'SPARKPLUG_B' && { host_id: orNull(typed.hostId) }),
  certificate_pem: orNull(typed.certificatePem),
  private_key_pem: orAsItIs(typed.privateKeyPem),
  commands: commandsOf(typed, target),
});
