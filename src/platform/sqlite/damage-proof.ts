/** Whether what SQLite calls damage is some: a page that the disk did not return once is called the same. */
import { messageOf } from '../../lib/errors.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';

/** G: damage that is met once more after none was found so often in so long is believed. */
const REFUTED_MAX = 5;
const REFUTED_WITHIN_MS = 600_000;

interface DamageProofOptions {
  path: string;
  clock: Clock;
  log: Log;
  /** Reads all of the open database; resolves with its damage, undefined when there is none. Default: what met it is believed. */
  proveDamage?: ((path: string) => Promise<string | undefined>) | undefined;
}

export class DamageProof {
  readonly #options: DamageProofOptions;
  #refutedAtMs: MonotonicMs[] = [];

  constructor(options: DamageProofOptions) {
    this.#options = options;
  }

  /** @param isOpen one that could not even be opened is only opened again, which is quick */
  async isRefuted(fault: unknown, isOpen: boolean): Promise<boolean> {
    const { path, clock, log, proveDamage } = this.#options;
    const sinceMs = clock.monotonicMs() - REFUTED_WITHIN_MS;
    this.#refutedAtMs = this.#refutedAtMs.filter((atMs) => atMs > sinceMs);
    if (!proveDamage) return false;
    if (this.#refutedAtMs.length >= REFUTED_MAX) {
      // The next file has not been doubted yet.
      this.#refutedAtMs = [];
      return false;
    }
    try {
      if (isOpen && (await proveDamage(path)) !== undefined) return false;
    } catch (error) {
      log.warn('whether the database is damaged could not be found out', { database: path, error });
      return false;
    }
    this.#refutedAtMs.push(clock.monotonicMs());
    log.warn('the disk did not return the database once; no damage is found', {
      database: path,
      fault: messageOf(fault),
    });
    return true;
  }
}
