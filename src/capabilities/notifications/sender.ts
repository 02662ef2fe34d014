/**
 * Sends the changes of one channel: changes within a moment go in one message, messages go no faster than the channel's rate,
 * and a message that fails is tried again after pauses that double, for a day at most.
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { DeliveryError } from '../../platform/outbound/index.ts';
import type { Delivery } from './tables.ts';

/** Makes a delivery that was not tried yet. */
export type NewDelivery = (channelId: string, kind: Delivery['kind']) => Omit<Delivery, 'number'>;

/** The queue of a channel. */
export interface Waiting {
  /** The delivery that was begun, or a new one of everything that waits; undefined: nothing waits. */
  next(): Promise<Delivery | undefined>;
  /** Notes how an attempt ended; the status says whether the delivery is tried again. */
  note(delivery: Delivery): void;
  /** Whether more waits than the last delivery. */
  hasMore(): boolean;
}

interface SenderOptions {
  waiting: Waiting;
  clock: Clock;
  log: Log;
  limits: Limits['notifications'];
  /**
   * `remark`: which of several receivers did not get it. Undefined: nothing is left to send.
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
  /** The timer is far off, but a new change is sent at once. */
  #isResting = false;
  /** Outcome of the last attempt while it could not be stored, so that the attempt is not repeated. */
  #unnoted: Delivery | undefined;

  constructor(options: SenderOptions) {
    this.#options = options;
    const { clock, limits } = options;
    this.#bucket = new TokenBucket(limits.perHour / 3_600, limits.burst, clock.monotonicMs());
    this.#pause = new DoublingPause({ firstMs: limits.retryFirstMs, maxMs: limits.retryMaxMs });
  }

  /** A change waits: it is sent together with those of the next moment. */
  wake(): void {
    if (!this.#running && (!this.#timer || this.#isResting)) this.#schedule(this.#options.limits.gatherMs);
  }

  /** The channel was changed: a failed delivery is soon tried with the new settings. */
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
      // Alerts that are still raised after a day of failures are sent again later.
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
      // The next message starts with the shortest pause.
      if (hasEnded) this.#pause.reset();
      return { status: hasEnded ? 'FAILED' : 'RETRYING', error: words };
    }
  }
}
