/**
 * The newest value of a series, and its age. Three clocks may be wrong: the device's, the box's, and the box's in an
 * earlier run. So the age is determined once, on arrival, and then grows with monotonic time, whatever the wall clock
 * does.
 *
 *   - A value with its time of receipt is the newest: it came last.
 *   - A value with a time of the device is the newest unless it is older than the known one: devices send backlogs.
 *   - A time in the future is that of a wrong clock: every later value is newer.
 */
import type { DurationMs, DurationS, EpochS, MonotonicMs } from '../../../lib/time.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { TelemetryValue } from '../../../protocol/telemetry.ts';
import type { Latest } from '#telemetry-store';

/** The time of one message, the same for all its values. */
export interface Arrival {
  timestampS: EpochS;
  /** The time is that of receipt, not one of the device. */
  isReceipt: boolean;
  /** The message was shown before and is stored now: values that came since are newer. */
  isRepeated?: boolean;
  /** Later times are those of a wrong clock; infinite while the clock is not set. */
  futureFromS: EpochS;
  /** Age of the measurement at `atMonotonicMs`; undefined while the clock is not set. */
  ageMs: DurationMs | undefined;
  atMonotonicMs: MonotonicMs;
}

/** The time of a message that arrives now. */
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
  /** Between the last two measurements, and the two before; 0: not known. */
  #pauseS: DurationS = 0;
  #pauseBeforeS: DurationS = 0;

  constructor(arrival: Arrival, value: TelemetryValue) {
    this.timestampS = arrival.timestampS;
    this.value = value;
    this.#isReceipt = arrival.isReceipt;
    this.#ageMs = arrival.ageMs;
    this.#atMonotonicMs = arrival.atMonotonicMs;
  }

  /** A value of an earlier run; its age is unknown if its time is in the future. */
  static ofEarlierRun(clock: Clock, { timestampS, value }: Latest, toleranceMs: DurationMs): LatestValue {
    const arrival = arrivalNow(clock, { timestampS, isReceipt: false }, toleranceMs);
    const known = new LatestValue(arrival, value);
    known.#isEarlierRun = true;
    if (timestampS > arrival.futureFromS) known.#ageMs = Number.POSITIVE_INFINITY;
    // A clock that was put back must not make the value younger: at least the proven time has passed.
    const provenMs = clock.proven.nowMs();
    if (known.#ageMs !== undefined && provenMs !== undefined)
      known.#ageMs = Math.max(known.#ageMs, provenMs - timestampS * 1_000);
    return known;
  }

  /** Time since the measurement; infinite when unknown. */
  ageMs(nowMs: MonotonicMs): DurationMs {
    // While the clock is not set, a value of this run is as old as its stay here, and one of an earlier run is too old.
    const ageMs = this.#ageMs ?? (this.#isEarlierRun ? Number.POSITIVE_INFINITY : 0);
    return ageMs + nowMs - this.#atMonotonicMs;
  }

  /** How often it is measured; undefined: not known. A single long pause is no rhythm, and a short one after it ends it. */
  usualPauseS(): DurationS | undefined {
    const pauseS = this.#pauseBeforeS === 0 ? this.#pauseS : Math.min(this.#pauseS, this.#pauseBeforeS);
    return pauseS === 0 ? undefined : pauseS;
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
    other.#pauseS = this.#pauseS;
    other.#pauseBeforeS = this.#pauseBeforeS;
    return other;
  }

  /** True when the arriving value is the newest. */
  isReplacedBy({ isReceipt, isRepeated, timestampS, futureFromS }: Arrival): boolean {
    return (isReceipt && !isRepeated) || timestampS >= this.timestampS || this.timestampS > futureFromS;
  }

  /** Takes the newer value; runs for every value, so it allocates nothing. */
  replace(arrival: Arrival, value: TelemetryValue): void {
    const pauseS = arrival.timestampS - this.timestampS;
    // Since an earlier run the gateway itself was away.
    if (pauseS > 0 && !this.#isEarlierRun) {
      this.#pauseBeforeS = this.#pauseS;
      this.#pauseS = pauseS;
    }
    this.timestampS = arrival.timestampS;
    this.value = value;
    this.#isReceipt = arrival.isReceipt;
    this.#isEarlierRun = false;
    this.#ageMs = arrival.ageMs;
    this.#atMonotonicMs = arrival.atMonotonicMs;
  }

  /** The wall clock jumped. A time of receipt of this run moves along; returns true when it did. */
  stepped(clock: Clock, jumpMs: DurationMs, toleranceMs: DurationMs): boolean {
    if (!clock.isSet()) return false;
    const arrival = arrivalNow(clock, this.#time(), toleranceMs);
    if (this.#ageMs === undefined) {
      // The value is at least as old as its stay here.
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
    // A clock that was behind made it look younger.
    if (this.#isEarlierRun) this.#ageMs += Math.max(0, jumpMs);
    if (this.#isEarlierRun || !this.#isReceipt) return false;
    // The time is taken from the age, not shifted by the jump: jumps before the clock was set did not move it.
    this.timestampS = Math.floor((clock.wallMs() - this.ageMs(clock.monotonicMs())) / 1_000);
    return true;
  }

  #time(): { timestampS: EpochS; isReceipt: boolean } {
    return { timestampS: this.timestampS, isReceipt: this.#isReceipt };
  }
}
