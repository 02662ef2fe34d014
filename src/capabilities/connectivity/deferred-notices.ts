/**
 * Messages that a failing disk kept from devices. A change must be synced before it takes effect outside; if the sync fails,
 * the caller gets an error, but the change remains. As soon as a sync succeeds, each device concerned gets its whole state.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';

const RETRY_MS = LIMITS.commits.retryMs;

interface DeferredNoticesOptions {
  clock: Clock;
  log: Log;
  /** As the option of `Connectivity`. */
  durable: () => Promise<void>;
}

export class DeferredNotices {
  readonly #options: DeferredNoticesOptions;
  readonly #resend = new Map<string, () => void>();
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: DeferredNoticesOptions) {
    this.#options = options;
  }

  /** Whether everything under this key will be sent again, so that later messages go with that, and not before it. */
  has(key: string): boolean {
    return this.#resend.has(key);
  }

  /** Calls `resend` once everything committed by then is on the disk; of several under one key only the last one. */
  add(key: string, resend: () => void): void {
    if (this.#isStopped) return;
    this.#resend.set(key, resend);
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
        devices: this.#resend.size,
        error,
      });
      if (!this.#isStopped) this.#timer = clock.setTimer(RETRY_MS, () => void this.#try());
      return;
    }
    this.#timer = undefined;
    const all = [...this.#resend.values()];
    this.#resend.clear();
    if (this.#isStopped) return;
    log.info('devices are told of changes that a failing disk kept from them', { devices: all.length });
    for (const resend of all) resend();
  }
}
