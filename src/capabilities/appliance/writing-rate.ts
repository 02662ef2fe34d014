/** Bytes that the gateway writes to its flash card per day. */
import type { MonotonicMs } from '../../lib/time.ts';
import type { Metrics } from '../../platform/metrics/index.ts';

const DAY_MS = 86_400_000;
const STEP_MS = 3_600_000;
/** G: a shorter span says nothing about a day, because a start writes more than the hours after it. */
const SPAN_MIN_MS = 1_800_000;

export class WritingRate {
  readonly #total;
  /** Hourly points of the last day; bytes since the start of the process. */
  #points: { atMs: MonotonicMs; bytes: number }[] = [];

  constructor(metrics: Metrics) {
    this.#total = metrics.gauge(
      'process_written_bytes',
      'Bytes that the process gave to the disk since its start, as the kernel counts them.',
    );
  }

  /** Bytes a day, at the rate of the last day; undefined: not known yet. */
  perDay(bytes: number | undefined, nowMs: MonotonicMs): number | undefined {
    if (bytes === undefined) return undefined;
    this.#total.set(bytes);
    const last = this.#points.at(-1);
    if (!last || nowMs - last.atMs >= STEP_MS) this.#points.push({ atMs: nowMs, bytes });
    while (this.#points.length > DAY_MS / STEP_MS + 1) this.#points.shift();
    const first = this.#points[0];
    const spanMs = nowMs - (first?.atMs ?? nowMs);
    if (!first || spanMs < SPAN_MIN_MS) return undefined;
    return Math.round(((bytes - first.bytes) / spanMs) * DAY_MS);
  }
}
