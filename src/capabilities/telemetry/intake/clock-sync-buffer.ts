/**
 * Messages that came without a time while the box did not know the time either (decision 0025). They wait, with
 * their age, and get the right time of receipt once the clock is set.
 */
import type { MonotonicMs } from '../../../lib/time.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { Metrics } from '../../../platform/metrics/index.ts';
import { measurementTime, TIMESTAMP_KEY } from '../../../protocol/telemetry.ts';
import type { IncomingMessage } from './ingest.ts';

interface Waiting {
  message: IncomingMessage;
  receivedMonotonicMs: MonotonicMs;
  resolve: (stored: Promise<void> | void) => void;
}

export class ClockSyncBuffer {
  readonly #clock: Clock;
  readonly #messagesMax: number;
  readonly #queue: { dropped: () => void };
  #waiting: Waiting[] = [];

  constructor(options: { clock: Clock; metrics: Metrics; messagesMax: number }) {
    this.#clock = options.clock;
    this.#messagesMax = options.messagesMax;
    this.#queue = options.metrics.queue('telemetry_before_clock', {
      limit: options.messagesMax,
      depth: () => this.#waiting.length,
    });
  }

  /** Takes the message and resolves once it was stored; undefined when there is no room. */
  hold(message: IncomingMessage): Promise<void> | undefined {
    if (this.#waiting.length >= this.#messagesMax) {
      this.#queue.dropped();
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ message, receivedMonotonicMs: this.#clock.monotonicMs(), resolve });
    return promise;
  }

  /** Gives everything to `store`, once the clock is set; does nothing before. */
  release(store: (message: IncomingMessage) => Promise<void> | void): void {
    if (!this.#clock.isSet()) return;
    const released = this.#waiting;
    this.#waiting = [];
    for (const { message, receivedMonotonicMs, resolve } of released) {
      const ageMs = this.#clock.monotonicMs() - receivedMonotonicMs;
      resolve(store({ ...message, receivedAtMs: this.#clock.wallMs() - ageMs }));
    }
  }
}

/** Whether the device gave a time of its own. */
export function hasTime({ body }: IncomingMessage): boolean {
  return measurementTime(body[TIMESTAMP_KEY], 0, FOREVER).timestampS > 0;
}

const FOREVER = { futureToleranceMs: Number.POSITIVE_INFINITY, lateMs: Number.POSITIVE_INFINITY };
