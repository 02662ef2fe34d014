/** What a site file asks for is done, step by step, as far as it is not so already. */
import { messageOf } from '../lib/errors.ts';
import type { Api } from './api.ts';
import { planOf } from './plan.ts';
import type { SiteFile } from './read.ts';

/** Sentences about changes. */
export interface Outcome {
  done: string[];
  /** What comes after it was not tried. */
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
