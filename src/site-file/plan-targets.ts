/** Makes the targets of a site file, or changes the members that the file names. */
import { shownUrl } from '../lib/shown-url.ts';
import type { Api } from './api.ts';
import { deviceIds } from './plan-configuration.ts';
import type { SiteFile, WantedTarget } from './read.ts';
import {
  changed,
  changedWithSecrets,
  type Members,
  membersOf,
  patchSteps,
  requestStep,
  type Step,
} from './step.ts';

type PresentTarget = { id: string; name: string; kind: string } & Members;

/** Secrets are never shown; answers say whether there is one. */
const SECRETS = { secret: 'has_secret', private_key_pem: 'has_private_key' } as const;

export async function targetSteps(
  { targets: wanted, devices }: Pick<SiteFile, 'targets' | 'devices'>,
  api: Api,
  faults: string[],
): Promise<Step[]> {
  if (wanted.length === 0) return [];
  for (const [index, target] of wanted.entries())
    for (const [member, names] of Object.entries(devicesOf(target)))
      for (const [name, id] of await deviceIds(names, api))
        if (id === undefined && !devices.some(({ slug }) => slug === name))
          faults.push(`targets[${index}].${member}: there is no device "${name}"`);
  const { targets } = await api.get<{ targets: PresentTarget[] }>('/v3/targets');
  return wanted.flatMap((target, index): Step[] => {
    const { name, kind } = target;
    const present = targets.find((one) => one.name === name);
    if (!present) return [requestStep(api, `target "${name}": new, ${kind}`, 'POST', '/v3/targets', target)];
    if (present.kind !== kind) {
      faults.push(`targets[${index}].kind: "${name}" is ${present.kind} here; delete it first`);
      return [];
    }
    return changesOf(target, present, api);
  });
}

/** Devices that the target names, by member. */
function devicesOf({ selection, mqtt }: WantedTarget): Record<string, string[]> {
  const { commands } = membersOf(mqtt);
  return {
    'selection.devices': (membersOf(selection)['devices'] ?? []) as string[],
    'mqtt.commands.devices': (membersOf(commands)['devices'] ?? []) as string[],
  };
}

/** Commands can be replaced only as a whole, so members that the file does not name are filled in. */
function withAll(given: Members, present: Members): Members {
  const [commands, before] = [membersOf(given['commands']), membersOf(present['commands'])];
  const named = Object.entries(commands).filter(([, value]) => (value ?? undefined) !== undefined);
  if (named.length === 0 || Object.keys(before).length === 0) return given;
  return { ...given, commands: { ...before, ...Object.fromEntries(named) } };
}

function changesOf(target: WantedTarget, present: PresentTarget, api: Api): Step[] {
  const kind = target.kind.toLowerCase();
  const own = changed({ enabled: target['enabled'] }, present);
  const selection = changed(membersOf(target['selection']), membersOf(present['selection']), 'selection.');
  const before = membersOf(present[kind]);
  const given = withAll(membersOf(target[kind]), before);
  // The gateway shows an address without what may be a secret in it.
  const { url } = given;
  const isSameUrl = typeof url === 'string' && shownUrl(url) === before['url'];
  const settings = changedWithSecrets(
    isSameUrl ? { ...given, url: before['url'] } : given,
    before,
    `${kind}.`,
    SECRETS,
  );
  const inside = { [kind]: settings, selection };
  return patchSteps(api, `target "${target.name}"`, `/v3/targets/${present.id}`, own, inside);
}
