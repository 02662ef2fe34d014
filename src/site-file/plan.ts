/** The difference between a site file and the gateway, as steps. What the file does not name is left alone. */
import type { Api } from './api.ts';
import { blueprintIds } from './blueprint-ids.ts';
import { channelSteps } from './plan-channels.ts';
import { configurationSteps } from './plan-configuration.ts';
import { deviceSteps } from './plan-devices.ts';
import { ruleSteps } from './plan-rules.ts';
import { targetSteps } from './plan-targets.ts';
import { type SiteFile, SiteFileError } from './read.ts';
import type { WantedSite, WantedUser } from './schema.ts';
import { foldedName } from '../lib/text.ts';
import { changed, requestStep, type Step } from './step.ts';

/** @throws SiteFileError when something cannot become what the file says */
export async function planOf(file: SiteFile, api: Api): Promise<Step[]> {
  const faults: string[] = [];
  const blueprints = await blueprintIds(file.blueprints, api);
  const terms = { api, blueprints, faults };
  const steps = [
    ...(file.site ? await siteSteps(file.site, api) : []),
    ...(await userSteps(file.users, api)),
    ...blueprints.steps(),
    ...(await targetSteps(file.targets, api, faults)),
    ...(await deviceSteps(file.devices, terms)),
    ...(await configurationSteps(file, terms)),
    ...(await ruleSteps(file.rules, api)),
    ...(await channelSteps(file, api, faults)),
  ];
  if (faults.length > 0) throw new SiteFileError(faults);
  return steps;
}

async function siteSteps({ name, timezone, location }: WantedSite, api: Api): Promise<Step[]> {
  const { site } = await api.get<{ site: Record<string, unknown> }>('/v3/site');
  const before = (site['location'] ?? {}) as Record<string, unknown>;
  const fields = changed({ name, timezone }, site);
  const place = changed({ ...location }, before, 'location.');
  if (fields.names.length + place.names.length === 0) return [];
  const body = { ...fields.values, ...(place.names.length > 0 && { location: place.values }) };
  const change = `site: ${[...fields.names, ...place.names].join(', ')}`;
  return [requestStep(api, change, 'PATCH', '/v3/site', body)];
}

/** A password is set when the user is made, and belongs to the user then. */
async function userSteps(wanted: readonly WantedUser[], api: Api): Promise<Step[]> {
  if (wanted.length === 0) return [];
  const present = await api.all<{ id: string; name: string; role: string }>('/v3/auth/users', 'users');
  return wanted.flatMap((user): Step[] => {
    const { name, role } = user;
    const found = present.find((one) => foldedName(one.name) === foldedName(name));
    if (!found) return [requestStep(api, `user "${name}": new, ${role}`, 'POST', '/v3/auth/users', user)];
    if (found.role === role) return [];
    const change = `user "${name}": role ${role} instead of ${found.role}`;
    return [requestStep(api, change, 'PATCH', `/v3/auth/users/${found.id}`, { role })];
  });
}
