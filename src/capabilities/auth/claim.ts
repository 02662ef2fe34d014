/**
 * Who owns the box: it is claimed once an installer has a password. Until then a one-time code, which only
 * somebody at the box can read, sets that password.
 */
import { timingSafeEqual } from 'node:crypto';
import type { Clock } from '../../platform/clock/index.ts';
import { readPrivateFile, removeFile, writePrivateFile } from '../../platform/files/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { hashOf, newClaimCode, normalizeClaimCode } from './secrets.ts';
import type { AuthStore } from './store.ts';

export interface ClaimOptions {
  database: Database;
  store: AuthStore;
  clock: Clock;
  log: Log;
  dataDir: string;
  random: (sizeBytes: number) => Buffer;
}

export interface Claim {
  isClaimed(): boolean;
  /** The code that is valid now, as long as its file is there; undefined when the box is claimed. */
  code(): string | undefined;
  readonly file: string;
  /** True for the code that is valid now. */
  fits(typed: string): boolean;
  /** Keeps the code of an unclaimed box, or makes one. */
  ensure(): void;
  /** Makes a new code; the former one is void. */
  renew(): string;
  /** Within a transaction: ends the code if the box is claimed by then. */
  settle(): void;
}

export function createClaim(options: ClaimOptions): Claim {
  const { clock, database, dataDir, log, random, store } = options;
  const file = `${dataDir}/claim-code`;
  const isClaimed = (): boolean => store.users.countUsable('INSTALLER') > 0;

  const fits = (typed: string): boolean => {
    const expected = store.claim.codeHash();
    return expected !== undefined && timingSafeEqual(hashOf(normalizeClaimCode(typed)), expected);
  };

  const code = (): string | undefined => {
    const written = readPrivateFile(file)?.trim();
    return written !== undefined && fits(written) ? written : undefined;
  };

  function renew(): string {
    const made = newClaimCode(random);
    // The file first: a code that nobody can read would be of no use.
    writePrivateFile(file, `${made}\n`);
    store.claim.put(hashOf(made), clock.wallMs());
    return made;
  }

  return {
    isClaimed,
    file,
    fits,
    code,
    renew,
    ensure: () => {
      if (isClaimed()) return removeFile(file);
      if (code() === undefined) renew();
      log.info('gateway waits to be claimed', { claim_code_file: file });
    },
    settle: () => {
      if (!isClaimed()) return;
      store.claim.remove();
      database.afterCommit(() => removeFile(file));
    },
  };
}
