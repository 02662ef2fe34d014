/**
 * The newest value of a series, and how old it is. Three clocks can be wrong here: the device's, the box's, and
 * the box's in an earlier run. So a value is judged once, when it comes; from then on its age grows with
 * monotonic time, whatever the wall clock does.
 *
 *   - What is stamped with its time of receipt is the newest: it came last.
 *   - What a device stamped is the newest unless it is older than what is known: devices send what they kept.
 *   - A stamp in the future is that of a clock that was wrong: whatever comes is newer.
 */
import type { DurationMs, EpochS, MonotonicMs } from '../../../lib/time.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { TelemetryValue } from '../../../protocol/telemetry.ts';
import type { Latest } from '../codec/series.ts';

/** What is said of the time of one message, the same for all its values. */
export interface Arrival {
  timestampS: EpochS;
  /** The time is that of the receipt, not one that the device gave. */
  isReceipt: boolean;
  /** It came before and is stored only now: what came since is newer. */
  isRepeated?: boolean;
  /** Stamps after this are of a wrong clock; infinite while the clock is not set. */
  futureFromS: EpochS;
  /** Age of the measurement at `atMonotonicMs`; undefined while the clock is not set. */
  ageMs: DurationMs | undefined;
  atMonotonicMs: MonotonicMs;
}

/** The time of what comes now. */
export function arrivalNow(
  clock: Clock,
  time: { timestampS: EpochS; isReceipt: boolean },
  toleranceMs: DurationMs,
): Arrival {
  const { timestampS, isReceipt } = time;
  const wallMs = clock.isSet() ? clock.wallMs() : undefined;
  return {
    timestampS,
    isReceipt,
    futureFromS: wallMs === undefined ? Number.POSITIVE_INFINITY : (wallMs + toleranceMs) / 1_000,
    ageMs: wallMs === undefined ? undefined : Math.max(0, wallMs - timestampS * 1_000),
    atMonotonicMs: clock.monotonicMs(),
  };
}

export class LatestValue implements Latest {
  timestampS: EpochS;
  value: TelemetryValue;
  #isReceipt: boolean;
  #isEarlierRun = false;
  #ageMs: DurationMs | undefined;
  #atMonotonicMs: MonotonicMs;

  constructor(arrival: Arrival, value: TelemetryValue) {
    this.timestampS = arrival.timestampS;
    this.value = value;
    this.#isReceipt = arrival.isReceipt;
    this.#ageMs = arrival.ageMs;
    this.#atMonotonicMs = arrival.atMonotonicMs;
  }

  /** What an earlier run knew: a stamp in the future tells no age. */
  static ofEarlierRun(clock: Clock, { timestampS, value }: Latest, toleranceMs: DurationMs): LatestValue {
    const arrival = arrivalNow(clock, { timestampS, isReceipt: false }, toleranceMs);
    const known = new LatestValue(arrival, value);
    known.#isEarlierRun = true;
    if (timestampS > arrival.futureFromS) known.#ageMs = Number.POSITIVE_INFINITY;
    // A clock that was put back makes nothing younger: so much time has passed for certain.
    const provenMs = clock.proven.nowMs();
    if (known.#ageMs !== undefined && provenMs !== undefined)
      known.#ageMs = Math.max(known.#ageMs, provenMs - timestampS * 1_000);
    return known;
  }

  /** Since the measurement; infinite when nobody can tell. */
  ageMs(nowMs: MonotonicMs): DurationMs {
    // While the clock is not set, what came in this run is as old as its stay here, and an earlier run is long ago.
    const ageMs = this.#ageMs ?? (this.#isEarlierRun ? Number.POSITIVE_INFINITY : 0);
    return ageMs + nowMs - this.#atMonotonicMs;
  }

  /** Another value of the same time. */
  with(value: TelemetryValue): LatestValue {
    const time = {
      ageMs: this.#ageMs,
      atMonotonicMs: this.#atMonotonicMs,
      futureFromS: Number.POSITIVE_INFINITY,
    };
    const other = new LatestValue({ ...this.#time(), ...time }, value);
    other.#isEarlierRun = this.#isEarlierRun;
    return other;
  }

  /** True when what arrives is the newest value now. */
  isReplacedBy({ isReceipt, isRepeated, timestampS, futureFromS }: Arrival): boolean {
    return (isReceipt && !isRepeated) || timestampS >= this.timestampS || this.timestampS > futureFromS;
  }

  /** Takes the newer one in; runs for every value. */
  replace(arrival: Arrival, value: TelemetryValue): void {
    this.timestampS = arrival.timestampS;
    this.value = value;
    this.#isReceipt = arrival.isReceipt;
    this.#isEarlierRun = false;
    this.#ageMs = arrival.ageMs;
    this.#atMonotonicMs = arrival.atMonotonicMs;
  }

  /**
   * The wall clock jumped. A time of receipt of this run moves along, so that it says by the clock of now when the
   * value came; true when it did.
   */
  stepped(clock: Clock, jumpMs: DurationMs, toleranceMs: DurationMs): boolean {
    if (!clock.isSet()) return false;
    const arrival = arrivalNow(clock, this.#time(), toleranceMs);
    if (this.#ageMs === undefined) {
      // At least its stay here; of an earlier run that is not known.
      const stayMs = arrival.atMonotonicMs - this.#atMonotonicMs;
      this.#atMonotonicMs = arrival.atMonotonicMs;
      if (this.#isReceipt && !this.#isEarlierRun) {
        this.#ageMs = stayMs;
        this.timestampS = Math.floor((clock.wallMs() - stayMs) / 1_000);
        return true;
      }
      const isUnknown = this.#isEarlierRun && this.timestampS > arrival.futureFromS;
      this.#ageMs = isUnknown ? Number.POSITIVE_INFINITY : Math.max(stayMs, arrival.ageMs ?? 0);
      return false;
    }
    // By a clock that was behind, it looked younger than it is.
    if (this.#isEarlierRun) this.#ageMs += Math.max(0, jumpMs);
    if (this.#isEarlierRun || !this.#isReceipt) return false;
    // Not its stamp and the jump: while the clock was not set, jumps went by without moving it.
    this.timestampS = Math.floor((clock.wallMs() - this.ageMs(clock.monotonicMs())) / 1_000);
    return true;
  }

  #time(): { timestampS: EpochS; isReceipt: boolean } {
    return { timestampS: this.timestampS, isReceipt: this.#isReceipt };
  }
}
