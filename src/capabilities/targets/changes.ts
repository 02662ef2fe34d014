/** Changes of a target that a person makes, and the record that results. */
import { invalidBody } from '../../lib/errors.ts';
import { defined, withoutNull } from '../../lib/members.ts';
import { changedUrl, hiddenParts } from '../../lib/shown-url.ts';
import { isOnOtherDisk } from '../../platform/files/index.ts';
import {
  backlogOrderOf,
  carriesTelemetry,
  DEFAULT_TOPICS,
  type FolderSettings,
  type InfluxdbSettings,
  type MqttSettings,
  recordContentsOf,
  type Selection,
  type TargetRecord,
  type TargetSecrets,
  type TargetSettings,
} from './model.ts';

type Changed<Settings extends TargetSettings> = Pick<Settings, 'kind'> & {
  [Name in keyof Settings]?: Settings[Name] | undefined;
};
/** Changed settings of one kind. */
export type SettingsChange = Changed<InfluxdbSettings> | Changed<MqttSettings> | Changed<FolderSettings>;

/** A change of a target; absent members stay as they are, or get their default. */
export interface TargetChange {
  name?: string | undefined;
  isEnabled?: boolean | undefined;
  settings?: SettingsChange | undefined;
  /** null removes the secret. */
  secrets?: { [Name in keyof TargetSecrets]: string | null | undefined } | undefined;
  selection?: Partial<Selection> | undefined;
}

export type NewTarget = TargetChange & {
  name: string;
  settings: TargetSettings;
  selection: Selection;
  /** Begin with samples stored since `selection.fromMs`, not only with new ones. */
  withHistory: boolean;
};

/** @throws GatewayError invalid_body (400) for a folder that does not exist or cannot be read */
export function placed(settings: TargetSettings, dataDir: string): TargetSettings {
  if ('url' in settings) changedUrl(undefined, settings.url, `${settings.kind.toLowerCase()}.url`);
  if (settings.kind !== 'FOLDER') return settings;
  const isMount = isOnOtherDisk(settings.path, dataDir);
  if (typeof isMount === 'string') throw invalidBody('folder.path', isMount);
  return { ...settings, isMount };
}

/** @throws GatewayError invalid_body (400) */
export function changedSettings(
  before: TargetSettings,
  change: SettingsChange | undefined,
  dataDir: string,
): TargetSettings {
  if (!change) return before;
  if (change.kind !== before.kind)
    throw invalidBody(change.kind.toLowerCase(), `The target is of the kind ${before.kind}.`);
  const changed = { ...before, ...defined(change) } as TargetSettings;
  if ('url' in changed && 'url' in before)
    changed.url = changedUrl(before.url, changed.url, `${change.kind.toLowerCase()}.url`);
  if ('path' in change && change.path !== undefined) return placed(changed, dataDir);
  if (changed.kind !== 'MQTT' || before.kind !== 'MQTT' || changed.form === before.form) return changed;
  // The topic of one form means something else in another.
  const isSaid = 'topic' in change && change.topic !== undefined;
  return isSaid ? changed : { ...changed, topic: DEFAULT_TOPICS[changed.form] };
}

/**
 * Replaces the slug of a renamed device in the lists of a target; in place, because running senders read the same lists.
 * True when the slug was in one of them.
 */
export function followSlug({ selection, settings }: TargetRecord, before: string, now: string): boolean {
  const commanded = settings.kind === 'MQTT' ? settings.commands?.devices : undefined;
  const lists = [selection.devices ?? [], commanded ?? []].filter((list) => list.includes(before));
  for (const list of lists) list[list.indexOf(before)] = now;
  return lists.length > 0;
}

/** A secret is sent only to the server that it was entered for. @throws GatewayError invalid_body (400) */
export function requireSameServer(
  before: TargetRecord,
  next: TargetRecord,
  given: TargetChange['secrets'],
): void {
  if (before.secrets.secret === undefined || given?.secret !== undefined) return;
  if (serverOf(before.settings) === serverOf(next.settings)) return;
  throw invalidBody(
    `${before.kind.toLowerCase()}.secret`,
    'The server is another one now: enter the secret again, or null for none.',
  );
}

function serverOf(settings: TargetSettings): string {
  if (settings.kind === 'FOLDER') return settings.path;
  const { protocol, host } = new URL(settings.url);
  return `${protocol}//${host}`;
}

/** Every secret of a target, those in its address too. */
export function secretsIn({ secrets, settings }: TargetRecord): string[] {
  const inAddress = 'url' in settings ? hiddenParts(settings.url) : [];
  return [...(Object.values(secrets) as string[]), ...inAddress];
}

/** Absent secrets stay, null removes them. */
export function changedSecrets(before: TargetSecrets, change: TargetChange['secrets']): TargetSecrets {
  return withoutNull({ ...before, ...defined(change ?? {}) });
}

/** @throws GatewayError invalid_body (400) */
export function requireFitting(record: TargetRecord): void {
  const { settings } = record;
  const isStatesOnly = settings.kind === 'MQTT' && settings.form !== 'PLAIN';
  if (isStatesOnly && (recordContentsOf(record).length > 0 || !carriesTelemetry(record)))
    throw invalidBody('selection.contents', `The form ${settings.form} carries TELEMETRY alone.`);
  const what = settings.kind === 'MQTT' ? `form ${settings.form}` : `kind ${settings.kind}`;
  const takesAnyOrder = settings.kind === 'INFLUXDB' || what === 'form PLAIN' || what === 'form SPARKPLUG_B';
  if (!takesAnyOrder && backlogOrderOf(record) === 'NEWEST_FIRST')
    throw invalidBody('selection.backlog_order', `The ${what} takes OLDEST_FIRST alone.`);
}
