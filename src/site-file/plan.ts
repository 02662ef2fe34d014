/** Makes the gateway what a site file says, step by step. What the file does not name is left alone. */
import { messageOf } from '../lib/errors.ts';
import { foldedName } from '../lib/text.ts';
import type { Api } from './api.ts';
import { blueprintIds, deviceSteps } from './plan-devices.ts';
import { channelSteps, configurationSteps } from './plan-configuration.ts';
import { ruleSteps } from './plan-rules.ts';
import { targetSteps } from './plan-targets.ts';
import { tariffSteps } from './plan-tariffs.ts';
import { type SiteFile, SiteFileError } from './read.ts';
import type { WantedSite, WantedUser } from './schema.ts';
import { changed, patchSteps, requestStep, type Step } from './step.ts';

/** Sentences about changes. */
export interface Outcome {
  done: string[];
  /** Later changes were not tried. */
  failed: { change: string; reason: string } | undefined;
  left: string[];
}

/**
 * A dry run leaves everything. A change that is refused ends it; what was done stays, and another run goes on from there.
 * @throws SiteFileError when the gateway cannot become what the file says; Refused when it does not answer
 */
export async function apply(file: SiteFile, api: Api, options: { isDryRun: boolean }): Promise<Outcome> {
  const steps = await planOf(file, api);
  const done: string[] = [];
  let failed: Outcome['failed'];
  if (!options.isDryRun)
    for (const { change, run } of steps) {
      try {
        await run();
      } catch (error) {
        failed = { change, reason: messageOf(error) };
        break;
      }
      done.push(change);
    }
  const tried = done.length + (failed ? 1 : 0);
  return { done, failed, left: steps.slice(tried).map(({ change }) => change) };
}

/** @throws SiteFileError when something cannot become what the file says */
async function planOf(file: SiteFile, api: Api): Promise<Step[]> {
  const faults: string[] = [];
  const blueprints = await blueprintIds(file.blueprints, api);
  const terms = { api, blueprints, faults };
  const steps = [
    ...(file.site ? await siteSteps(file.site, api) : []),
    ...(await userSteps(file.users, api)),
    ...blueprints.steps(),
    ...(await deviceSteps(file.devices, terms)),
    ...(await configurationSteps(file, terms)),
    ...(file.tariffs ? await tariffSteps(file.tariffs, api) : []),
    ...(await targetSteps(file, api, faults)),
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
  return patchSteps(api, 'site', '/v3/site', fields, { location: place });
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
