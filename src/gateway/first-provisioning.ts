/** Sets up a box from a site file at its first start; after a power cut the next start goes on. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Auth } from '../capabilities/auth/index.ts';
import { messageOf } from '../lib/errors.ts';
import { readPrivateFile, removeFile, writePrivateFile } from '../platform/files/index.ts';
import { Api, apply, readSiteFile, withOwnToken } from '../site-file/index.ts';
import type { GatewayOptions } from './infrastructure.ts';

/** A file in the data folder until the whole site file is applied; its second line is the reason why it is not. */
const PENDING = 'provisioning-pending';

/** Why the site file of this start is not applied, in one line; undefined: it is applied, or under way. */
export function provisioningFault({ provisionFile, dataDir }: GatewayOptions['config']): string | undefined {
  const pending = join(dataDir, PENDING);
  if (provisionFile === undefined || !existsSync(pending)) return undefined;
  try {
    const [, fault] = readPrivateFile(pending)?.split('\n') ?? [];
    return fault === '' ? undefined : fault;
  } catch (error) {
    return messageOf(error);
  }
}

/** A failure stops nothing: a person can correct the file, or go on by hand. */
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
  const note = (fault: string): void => {
    try {
      writePrivateFile(pending, `${provisionFile}\n${fault.replace(/\s+/g, ' ').trim()}\n`);
    } catch (error) {
      log.warn('how far the site file is applied cannot be noted', { path: pending, error });
    }
  };
  note('');
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
      note(`${change}: ${reason}`);
      log.error('the site file is applied in part; the next start goes on', { change, reason, done, left });
      return;
    }
    removeFile(pending);
    log.info('the site file is applied', { file: provisionFile, done });
  } catch (error) {
    note(messageOf(error));
    log.error('the site file is not applied; the next start tries again', { reason: messageOf(error) });
  }
}
