/**
 * Sends the changes of one channel: what comes together goes together, no faster than the channel's rate, and what does not
 * arrive is tried again after pauses that double, for a day at most.
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { DeliveryError } from '../../platform/outbound/index.ts';
import type { Delivery } from './tables.ts';

/** What a channel is to send. */
export interface Waiting {
  /** The delivery that was begun, or one of everything that waits; undefined: there is nothing to send. */
  next(): Promise<Delivery | undefined>;
  /** How an attempt at it ended: by its status it is over, or tried again. */
  note(delivery: Delivery): void;
  /** There is more than what was given out last. */
  hasMore(): boolean;
}

interface SenderOptions {
  waiting: Waiting;
  clock: Clock;
  log: Log;
  limits: Limits['notifications'];
  /**
   * `remark`: who of several did not get it; undefined: there is nothing left to send.
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
  /** What comes now is sent at once, although the timer is far off. */
  #isResting = false;
  /** How the last attempt ended, as long as it could not be stored: it is not made again. */
  #unnoted: Delivery | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { clock, limits } = options;
    this.#bucket = new TokenBucket(limits.perHour / 3_600, limits.burst, clock.monotonicMs());
    this.#pause = new DoublingPause({ firstMs: limits.retryFirstMs, maxMs: limits.retryMaxMs });
  }

  /** There is something to send: it goes together with what comes in a moment. */
  wake(): void {
    if (!this.#running && (!this.#timer || this.#isResting)) this.#schedule(this.#options.limits.gatherMs);
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

  #schedule(durationMs: DurationMs, isResting = false): void {
    this.#timer?.cancel();
    this.#isResting = isResting;
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
    const { limits, log, waiting } = this.#options;
    try {
      this.#noteLast();
      const delivery = await waiting.next();
      if (!delivery) return;
      const status = await this.#attempt(delivery);
      this.#isFailing = status === 'RETRYING';
      if (this.#isFailing) this.#schedule(this.#pause.next());
      else if (!waiting.hasMore()) return;
      // What is still raised after a day of failures is sent again later.
      else if (status === 'FAILED') this.#schedule(limits.retryMaxMs, true);
      else this.#schedule(limits.gatherMs);
    } catch (error) {
      if (this.#stopping.signal.aborted) return;
      log.warnLimited('send', 60_000, 'notifications could not be sent, will be tried again', { error });
      this.#schedule(this.#pause.next(), true);
    }
  }

  async #attempt(delivery: Delivery): Promise<Delivery['status']> {
    const { clock } = this.#options;
    const outcome = await this.#send(delivery);
    const attempts = delivery.attempts + 1;
    this.#unnoted = { ...delivery, ...outcome, attempts, attemptedAtMs: Math.floor(clock.wallMs()) };
    this.#noteLast();
    return outcome.status;
  }

  #noteLast(): void {
    if (this.#unnoted) this.#options.waiting.note(this.#unnoted);
    this.#unnoted = undefined;
  }

  async #send(delivery: Delivery): Promise<Pick<Delivery, 'status' | 'error'>> {
    const { clock, limits, log, send } = this.#options;
    const { signal } = this.#stopping;
    try {
      const sent = await send(delivery, signal);
      this.#bucket.borrow(clock.monotonicMs());
      this.#pause.reset();
      return sent ? { status: 'DELIVERED', error: sent.remark } : { status: 'FAILED', error: NOTHING_LEFT };
    } catch (error) {
      signal.throwIfAborted();
      const words = error instanceof DeliveryError ? error.message : 'The gateway failed to send it.';
      if (!(error instanceof DeliveryError)) log.error('a notification could not be sent', { error });
      const hasEnded = delivery.attempts + 1 >= limits.attempts;
      // The next message begins with a short pause again.
      if (hasEnded) this.#pause.reset();
      return { status: hasEnded ? 'FAILED' : 'RETRYING', error: words };
    }
  }
}
