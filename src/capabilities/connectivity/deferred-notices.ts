/**
 * What a failing disk kept from devices: nothing may happen outside because of a change before it is synced, and what
 * changed stays changed although nobody was answered. Who is owed something is told anew, all that there is to say, as
 * soon as a sync succeeds.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';

const RETRY_MS = LIMITS.commits.retryMs;

interface DeferredNoticesOptions {
  clock: Clock;
  log: Log;
  /** As that of `Connectivity`. */
  durable: () => Promise<void>;
}

export class DeferredNotices {
  readonly #options: DeferredNoticesOptions;
  readonly #tell = new Map<string, () => void>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: DeferredNoticesOptions) {
    this.#options = options;
  }

  /** Whether everything is to be told under this key: what comes meanwhile goes with that, and not before it. */
  has(key: string): boolean {
    return this.#tell.has(key);
  }

  /** Calls `tell` once what was committed by then is on the disk; of several under one key the last one. */
  add(key: string, tell: () => void): void {
    if (this.#isStopped) return;
    this.#tell.set(key, tell);
    this.#timer ??= this.#options.clock.setTimer(RETRY_MS, () => void this.#try());
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  async #try(): Promise<void> {
    const { clock, log, durable } = this.#options;
    try {
      await durable();
    } catch (error) {
      log.warnLimited('deferred notices', 60_000, 'devices are told of changes later: the disk fails', {
        devices: this.#tell.size,
        error,
      });
      if (!this.#isStopped) this.#timer = clock.setTimer(RETRY_MS, () => void this.#try());
      return;
    }
    this.#timer = undefined;
    const all = [...this.#tell.values()];
    this.#tell.clear();
    if (this.#isStopped) return;
    log.info('devices are told of changes that a failing disk kept from them', { devices: all.length });
    for (const tell of all) tell();
  }
}
