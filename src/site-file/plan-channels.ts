/** Makes the notification channels of a site file, or changes the members that the file names. */
import type { Api } from './api.ts';
import type { SiteFile, WantedChannel } from './read.ts';
import {
  changed,
  changedWithSecrets,
  type Members,
  membersOf,
  patchSteps,
  requestStep,
  type Step,
} from './step.ts';

const CHANNELS = '/v3/notification_channels';

/** Secrets are never shown; answers say whether there is one. */
const SECRETS = {
  password: 'has_password',
  signing_secret: 'has_signing_secret',
  token: 'has_token',
  url: 'has_url',
} as const;

type PresentChannel = { id: string; name: string; type: string } & Members;

export async function channelSteps(
  { notifications, devices }: Pick<SiteFile, 'notifications' | 'devices'>,
  api: Api,
  faults: string[],
): Promise<Step[]> {
  if (notifications.length === 0) return [];
  const present = await api.all<PresentChannel>(CHANNELS, 'notification_channels');
  const slugs = new Set(devices.map(({ slug }) => slug));
  const steps: Step[] = [];
  for (const [index, channel] of notifications.entries()) {
    const where = `notifications[${index}]`;
    const ids = await deviceIds((channel['device_ids'] ?? []) as string[], api);
    for (const [name, id] of ids)
      if (id === undefined && !slugs.has(name))
        faults.push(`${where}.device_ids: there is no device "${name}"`);
    const { name, type } = channel;
    const found = present.find((one) => one.name === name);
    if (!found)
      steps.push(requestStep(api, `notification channel "${name}": new, ${type}`, 'POST', CHANNELS, channel));
    else if (found.type !== type)
      faults.push(`${where}.type: "${name}" is ${found.type} here; delete it first`);
    else steps.push(...changesOf(channel, found, { ids, api }));
  }
  return steps;
}

/** Names of devices → their ids; undefined for a device that does not exist yet. */
export async function deviceIds(
  names: readonly string[],
  api: Api,
): Promise<Map<string, string | undefined>> {
  const ids = new Map<string, string | undefined>();
  for (const name of names) {
    const found = await api.find<{ device: { id: string } }>(`/v3/devices/${encodeURIComponent(name)}`);
    ids.set(name, found?.device.id);
  }
  return ids;
}

function changesOf(
  channel: WantedChannel,
  present: PresentChannel,
  { ids, api }: { ids: ReadonlyMap<string, string | undefined>; api: Api },
): Step[] {
  const { name, type, enabled, minimum_severity, notify_cleared, device_ids } = channel;
  const own = changed({ enabled, minimum_severity, notify_cleared }, present);
  const isOtherDevices =
    (device_ids ?? undefined) !== undefined &&
    !isSameSet([...ids.values()], present['device_ids'] as string[]);
  const kind = type.toLowerCase();
  const before = membersOf(present[kind]);
  const given = membersOf(channel[kind]);
  const settings = changedWithSecrets(
    given,
    { ...before, has_url: isSameOrigin(given['url'], before['origin']) },
    `${kind}.`,
    SECRETS,
  );
  const all = isOtherDevices
    ? { values: { ...own.values, device_ids }, names: [...own.names, 'device_ids change'] }
    : own;
  const path = `${CHANNELS}/${present.id}`;
  return patchSteps(api, `notification channel "${name}"`, path, all, { [kind]: settings });
}

/** Only the origin of a webhook's address is shown. */
const isSameOrigin = (url: unknown, origin: unknown): boolean =>
  typeof url === 'string' && new URL(url).origin === origin;

const isSameSet = (one: readonly (string | undefined)[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((id) => id !== undefined && other.includes(id));
