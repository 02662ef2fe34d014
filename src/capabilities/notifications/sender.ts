/**
 * Sends what one channel is to tell: what comes together goes together, no faster than the channel's rate, and what does not
 * arrive is tried again after pauses that double, for a day at most.
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { DeliveryError } from '../../platform/outbound/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { Outbox } from './outbox.ts';
import type { NotificationStore } from './store.ts';
import type { Delivery } from './tables.ts';

interface SenderOptions {
  channelId: string;
  database: Database;
  store: NotificationStore;
  outbox: Outbox;
  clock: Clock;
  log: Log;
  limits: Limits['notifications'];
  newId: () => string;
  /**
   * `remark`: who of several did not get it; undefined: there is nothing left to tell.
   * @throws DeliveryError; the signal's reason
   */
  send: (delivery: Delivery, signal: AbortSignal) => Promise<{ remark: string | undefined } | undefined>;
}

const NOTHING_LEFT = 'What it was about is gone, or the channel was switched off meanwhile.';

export class Sender {
  readonly #options: SenderOptions;
  readonly #bucket: TokenBucket;
  readonly #pause: DoublingPause;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isFailing = false;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { clock, limits } = options;
    this.#bucket = new TokenBucket(limits.perHour / 3_600, limits.burst, clock.monotonicMs());
    this.#pause = new DoublingPause({ firstMs: limits.retryFirstMs, maxMs: limits.retryMaxMs });
  }

  /** There is something to tell: it is sent together with what comes in a moment. */
  wake(): void {
    if (!this.#timer && !this.#running) this.#schedule(this.#options.limits.gatherMs);
  }

  /** The channel was changed: what failed is tried with the new settings, soon. */
  retrySoon(): void {
    this.#pause.reset();
    if (this.#timer) this.#schedule(this.#options.limits.gatherMs);
    else this.wake();
  }

  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the gateway stops'));
    this.#timer?.cancel();
    this.#timer = undefined;
    await this.#running;
  }

  #schedule(durationMs: DurationMs): void {
    this.#timer?.cancel();
    if (this.#stopping.signal.aborted) return;
    const { clock } = this.#options;
    const waitMs = this.#isFailing ? 0 : this.#bucket.waitMs(clock.monotonicMs());
    this.#timer = clock.setTimer(Math.max(durationMs, waitMs), () => {
      this.#timer = undefined;
      this.#running = this.#run().finally(() => {
        this.#running = undefined;
      });
    });
  }

  async #run(): Promise<void> {
    const { clock, database, limits, log, newId, outbox, store, channelId } = this.#options;
    try {
      const begun = { id: newId(), createdAtMs: Math.floor(clock.wallMs()) };
      const delivery = database.transaction(() => outbox.next(channelId, begun));
      if (!delivery) return;
      // What is told has happened, and what was begun is known after a fall.
      await database.durable();
      const isDone = await this.#attempt(delivery);
      this.#isFailing = !isDone;
      if (!isDone) this.#schedule(this.#pause.next());
      else if (store.countPending(channelId) > 0) this.#schedule(limits.gatherMs);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      log.warnLimited('send', 60_000, 'notifications could not be sent, will be tried again', { error });
      this.#schedule(limits.retryMaxMs);
    }
  }

  /** True when there is nothing more to try. */
  async #attempt(delivery: Delivery): Promise<boolean> {
    const { clock, limits, log, send } = this.#options;
    const { signal } = this.#stopping;
    try {
      const sent = await send(delivery, signal);
      this.#bucket.borrow(clock.monotonicMs());
      this.#pause.reset();
      if (sent) this.#finish({ ...delivery, status: 'DELIVERED', error: sent.remark });
      else this.#finish({ ...delivery, status: 'FAILED', error: NOTHING_LEFT });
      return true;
    } catch (error) {
      signal.throwIfAborted();
      const words = error instanceof DeliveryError ? error.message : 'The gateway failed to send it.';
      if (!(error instanceof DeliveryError)) log.error('a notification could not be sent', { error });
      const hasEnded = delivery.attempts + 1 >= limits.attempts;
      // The next message begins with a short pause again.
      if (hasEnded) this.#pause.reset();
      this.#finish({ ...delivery, status: hasEnded ? 'FAILED' : 'RETRYING', error: words });
      return hasEnded;
    }
  }

  #finish(delivery: Delivery): void {
    const { clock, database, limits, store } = this.#options;
    const { number, channelId, status, attempts } = delivery;
    database.transaction(() => {
      store.updateDelivery({
        ...delivery,
        attempts: attempts + 1,
        attemptedAtMs: Math.floor(clock.wallMs()),
      });
      if (status !== 'RETRYING') store.removePendingOf(number);
      store.removeDeliveries(channelId, limits.deliveriesKept);
    });
  }
}
