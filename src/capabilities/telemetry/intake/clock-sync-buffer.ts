/**
 * Messages without a time that came before the clock of the box was set (decision 0025). They wait, and get the right
 * time of receipt once the clock is set.
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

  /** Keeps the message and resolves once it is stored; undefined when there is no room. */
  hold(message: IncomingMessage): Promise<void> | undefined {
    if (this.#waiting.length >= this.#messagesMax) {
      this.#queue.dropped();
      return undefined;
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push({ message, receivedMonotonicMs: this.#clock.monotonicMs(), resolve });
    return promise;
  }

  /** Gives all messages to `store` if the clock is set. */
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

/** Whether the message has a time of the device. */
export function hasTime({ body }: IncomingMessage): boolean {
  return measurementTime(body[TIMESTAMP_KEY], 0, FOREVER).timestampS > 0;
}

const FOREVER = { futureToleranceMs: Number.POSITIVE_INFINITY, lateMs: Number.POSITIVE_INFINITY };
