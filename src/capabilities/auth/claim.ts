/**
 * Ownership of the box: it is claimed once an installer has a password. Until then a one-time code, which only
 * somebody at the box can read, sets that password.
 */
import { timingSafeEqual } from 'node:crypto';
import type { DurationMs } from '../../lib/time.ts';
import { readPrivateFile, removeFile, writePrivateFile } from '../../platform/files/index.ts';
import type { AuthParts } from './store.ts';
import { hashOf, newClaimCode, normalizeClaimCode } from './tokens.ts';

const TOLD_INTERVAL_MS: DurationMs = 60_000;

export class Claim {
  readonly #options: AuthParts;
  /** Holds the code while there is one. */
  readonly file: string;

  constructor(options: AuthParts) {
    this.#options = options;
    this.file = `${options.dataDir}/claim-code`;
  }

  /** True once an installer has a password. */
  isClaimed(): boolean {
    return this.#options.store.users.countUsable('INSTALLER') > 0;
  }

  /** The valid code, while its file can be read; undefined when the box is claimed. */
  code(): string | undefined {
    if (this.#options.store.claim.codeHash() === undefined) return undefined;
    const written = this.#written()?.trim();
    return written !== undefined && this.fits(written) ? written : undefined;
  }

  /** An unreadable file counts as no code, so that another one is made. */
  #written(): string | undefined {
    try {
      return readPrivateFile(this.file);
    } catch (error) {
      const message = 'the file of the claim code cannot be read';
      this.#options.log.warnLimited('claim code', TOLD_INTERVAL_MS, message, { path: this.file, error });
      return undefined;
    }
  }

  /** True for the code that is valid now. */
  fits(typed: string): boolean {
    const expected = this.#options.store.claim.codeHash();
    return expected !== undefined && timingSafeEqual(hashOf(normalizeClaimCode(typed)), expected);
  }

  /**
   * Keeps the code of an unclaimed box, or makes one. False when the file cannot be written, so that nobody can claim the box;
   * this is logged, and devices are served meanwhile.
   */
  ensure(): boolean {
    const { log } = this.#options;
    if (this.isClaimed()) this.#forget();
    else
      try {
        if (this.code() === undefined) this.renew();
        log.info('gateway waits to be claimed', { claim_code_file: this.file });
      } catch (error) {
        const message =
          'nobody can claim the gateway, its claim code cannot be kept; move away what stands in place of the file';
        log.error(message, { claim_code_file: this.file, error });
        return false;
      }
    return true;
  }

  /** Makes a new code; the former one is void. */
  renew(): string {
    const { clock, random, store } = this.#options;
    const made = newClaimCode(random);
    // The file comes first, because a code that nobody can read is useless.
    writePrivateFile(this.file, `${made}\n`);
    store.claim.put(hashOf(made), clock.wallMs());
    return made;
  }

  /** Within a transaction: ends the code if the box is claimed by then. */
  settle(): void {
    if (!this.isClaimed()) return;
    this.#options.store.claim.remove();
    this.#options.database.afterCommit(() => this.#forget());
  }

  /** An old code opens nothing, so a file that cannot be removed may stay. */
  #forget(): void {
    try {
      removeFile(this.file);
    } catch (error) {
      this.#options.log.warn('the file of the claim code cannot be removed', { path: this.file, error });
    }
  }
}
