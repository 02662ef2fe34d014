/** The first start of a box makes it what a file says; with a cut of power in between the next start goes on. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Auth } from '../capabilities/auth/index.ts';
import { messageOf } from '../lib/errors.ts';
import { removeFile, writePrivateFile } from '../platform/files/index.ts';
import { Api, apply, readSiteFile, withOwnToken } from '../site-file/index.ts';
import type { GatewayOptions } from './infrastructure.ts';

/** Stands in the data folder until all of the file is applied. */
const PENDING = 'provisioning-pending';

/** The box serves whatever becomes of it: a person can mend the file, or go on by hand. */
export async function provisionAtFirstStart(
  { config, clock, log, environment = {} }: GatewayOptions,
  parts: {
    auth: Auth;
    site: { isNew: boolean };
    fetch: (request: Request) => Promise<Response>;
  },
): Promise<void> {
  const { provisionFile, dataDir } = config;
  const pending = join(dataDir, PENDING);
  if (provisionFile === undefined || !(parts.site.isNew || existsSync(pending))) return;
  writePrivateFile(pending, `${provisionFile}\n`);
  try {
    const file = readSiteFile(provisionFile, environment);
    const outcome = await withOwnToken(parts.auth.tokens, (token) =>
      apply(file, new Api({ origin: 'http://gateway.internal', token, fetch: parts.fetch, clock }), {
        isDryRun: false,
      }),
    );
    const { done, failed, left } = outcome;
    if (failed) {
      const { change, reason } = failed;
      log.error('the site file is applied in part; the next start goes on', { change, reason, done, left });
      return;
    }
    removeFile(pending);
    log.info('the site file is applied', { file: provisionFile, done });
  } catch (error) {
    log.error('the site file is not applied; the next start tries again', { reason: messageOf(error) });
  }
}
