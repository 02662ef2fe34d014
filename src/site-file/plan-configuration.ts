/** Sets the configuration parameters of devices that a site file names, group by group. */
import type { Api } from './api.ts';
import { findDevice, type PresentDevice, type Terms } from './plan-devices.ts';
import type { SiteFile, WantedChannel } from './read.ts';
import type { WantedDevice } from './schema.ts';
import {
  changed,
  changedWithSecrets,
  type Members,
  membersOf,
  patchSteps,
  requestStep,
  type Step,
} from './step.ts';

interface Group {
  device: WantedDevice;
  name: string;
  given: Members;
  where: string;
  referred: ReadonlySet<string>;
}

interface Declared {
  parameters: Readonly<Record<string, { type: string; sensitive?: boolean }>>;
}

interface Difference {
  values: Members;
  names: string[];
  faults: string[];
}

export async function configurationSteps(
  { devices, referred }: Pick<SiteFile, 'devices' | 'referred'>,
  terms: Terms,
): Promise<Step[]> {
  const steps: Step[] = [];
  for (const [index, device] of devices.entries())
    for (const [name, given] of Object.entries(device.configuration ?? {})) {
      const where = `devices[${index}].configuration.${name}`;
      steps.push(...(await groupSteps({ device, name, given: given ?? {}, where, referred }, terms)));
    }
  return steps;
}

async function groupSteps(group: Group, { api, blueprints, faults }: Terms): Promise<Step[]> {
  const { device, name, given } = group;
  const present = await findDevice(api, device.slug);
  const ids = device.blueprint === undefined ? undefined : await blueprints.meantBy(device.blueprint);
  const change = `device "${device.slug}": configuration`;
  // Its parameters are known once the device exists and has its blueprint.
  if (!present || (ids && !ids.includes(present.blueprint_id)))
    return [
      {
        change: `${change} ${Object.keys(given)
          .map((one) => `${name}.${one}`)
          .join(', ')}`,
        run: () => applyGroup(group, api),
      },
    ];
  const difference = await differenceOf(group, present, api);
  faults.push(...difference.faults);
  if (difference.names.length === 0) return [];
  return [{ change: `${change} ${difference.names.join(', ')}`, run: () => send(group, difference, api) }];
}

async function applyGroup(group: Group, api: Api): Promise<void> {
  const present = await findDevice(api, group.device.slug);
  if (!present) throw new Error(`the device "${group.device.slug}" is gone`);
  const difference = await differenceOf(group, present, api);
  if (difference.faults.length > 0) throw new Error(difference.faults.join('\n'));
  if (difference.names.length > 0) await send(group, difference, api);
}

const pathOf = ({ device, name }: Group): string =>
  `/v3/devices/${encodeURIComponent(device.slug)}/configuration/${encodeURIComponent(name)}`;

const send = async (group: Group, { values }: Difference, api: Api): Promise<void> =>
  void (await api.send('PATCH', pathOf(group), { set: values }));

async function differenceOf(group: Group, present: PresentDevice, api: Api): Promise<Difference> {
  const { name, given, where, referred } = group;
  const { device } = await api.get<{ device: { manifest: { configuration: Record<string, Declared> } } }>(
    `/v3/devices/${present.id}?expand=manifest`,
  );
  const faults = faultsOf(group, device.manifest.configuration);
  if (faults.length > 0) return { values: {}, names: [], faults };
  const { parameters } = device.manifest.configuration[name] as Declared;
  const { configuration, hidden } = await api.get<{ configuration: Members; hidden: string[] }>(
    `${pathOf(group)}?expand=hidden`,
  );
  const wanted: Record<string, unknown> = {};
  const secrets: Record<string, string> = {};
  for (const [parameter, value] of Object.entries(given)) {
    const { type, sensitive } = parameters[parameter] ?? {};
    wanted[parameter] = referred.has(`${where}.${parameter}`) ? typedOf(value, type) : value;
    if (sensitive === true) secrets[parameter] = hiddenName(parameter);
  }
  const before = { ...configuration, ...Object.fromEntries(hidden.map((one) => [hiddenName(one), true])) };
  const { values, names } = changedWithSecrets(wanted, before, `${name}.`, secrets);
  return { values, names: names.map((text) => withoutReferredValue(text, group)), faults: [] };
}

/** Values that the file refers to are not shown. */
function withoutReferredValue(text: string, { name, where, referred }: Group): string {
  const [parameter = ''] = text.split(' ', 1);
  const isReferred = referred.has(where.slice(0, -name.length) + parameter);
  return isReferred && text !== parameter ? `${parameter} changes` : text;
}

function faultsOf({ name, given, where, referred }: Group, groups: Record<string, Declared>): string[] {
  if (!Object.hasOwn(groups, name)) return [`${where}: is unknown; the device has ${listed(groups)}`];
  const { parameters } = groups[name] as Declared;
  return Object.keys(given).flatMap((parameter) => {
    const at = `${where}.${parameter}`;
    if (!Object.hasOwn(parameters, parameter))
      return [`${at}: is unknown; the group has ${listed(parameters)}`];
    if (parameters[parameter]?.sensitive !== true || referred.has(at)) return [];
    return [`${at}: must be {env: NAME} or {file: PATH}, so that no secret stands in this file`];
  });
}

/** A name that no parameter has. */
const hiddenName = (parameter: string): string => `hidden ${parameter}`;

const listed = (members: object): string => Object.keys(members).join(', ') || 'none';

/** Files and the environment have texts only. */
function typedOf(value: unknown, type: string | undefined): unknown {
  if (type === 'string' || typeof value !== 'string') return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    // The gateway will tell what is allowed.
    return value;
  }
}

// Makes the notification channels of a site file, or changes the members that the file names.

const CHANNELS = '/v3/notification_channels';

/** Secrets are never shown; answers say whether there is one. */
const SECRETS = {
  password: 'has_password',
  signing_secret: 'has_signing_secret',
  token: 'has_token',
  url: 'has_url',
} as const;

type PresentChannel = { id: string; name: string; kind: string } & Members;

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
    const { name, kind } = channel;
    const found = present.find((one) => one.name === name);
    if (!found)
      steps.push(requestStep(api, `notification channel "${name}": new, ${kind}`, 'POST', CHANNELS, channel));
    else if (found.kind !== kind)
      faults.push(`${where}.kind: "${name}" is ${found.kind} here; delete it first`);
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
  const { name, kind, enabled, minimum_severity, notify_cleared, device_ids } = channel;
  const own = changed({ enabled, minimum_severity, notify_cleared }, present);
  const isOtherDevices =
    (device_ids ?? undefined) !== undefined &&
    !isSameSet([...ids.values()], present['device_ids'] as string[]);
  const member = kind.toLowerCase();
  const before = membersOf(present[member]);
  const given = membersOf(channel[member]);
  const settings = changedWithSecrets(
    given,
    { ...before, has_url: isSameOrigin(given['url'], before['origin']) },
    `${member}.`,
    SECRETS,
  );
  const all = isOtherDevices
    ? { values: { ...own.values, device_ids }, names: [...own.names, 'device_ids change'] }
    : own;
  const path = `${CHANNELS}/${present.id}`;
  return patchSteps(api, `notification channel "${name}"`, path, all, { [member]: settings });
}

/** Only the origin of a webhook's address is shown. */
const isSameOrigin = (url: unknown, origin: unknown): boolean =>
  typeof url === 'string' && new URL(url).origin === origin;

const isSameSet = (one: readonly (string | undefined)[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((id) => id !== undefined && other.includes(id));
