/**
 * Units that share a connection or a line. While one is silent, nobody else can ask, so every silent unit would cost
 * the others its whole time limit, again and again. Hence, while others answer:
 *
 * - a unit that was silent twice rests before it is asked again, longer after each further silence;
 * - all silent units together get a small share of the time; the one that has waited longest comes first;
 * - when a unit answers again after a rest, the others may be asked at once;
 * - on a serial line a read waits a few times the slowest answer of its unit, not longer.
 *
 * Requests to a unit that rests fail with its last fault. A unit that is alone is always asked.
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { isUnreached, type ModbusAnswer, type ModbusFault } from './modbus-fault.ts';

interface Unit {
  answers: number;
  /** Fades, so that one slow answer is forgotten. */
  slowestMs: DurationMs;
  answeredAtMs: MonotonicMs;
  /** Requests without an answer, in a row. */
  silences: number;
  silentAtMs: MonotonicMs;
  fault: ModbusFault;
  restsUntilMs: MonotonicMs;
  askedAtMs: MonotonicMs;
  wantedAtMs: MonotonicMs;
}

/** A single lost answer changes nothing. */
const SILENCES_UNTIL_REST = 2;
/** An answer may be somewhat later than the slowest one so far. */
const SLOWEST_FACTOR = 3;
const LATE_FACTOR = 10;
const FADING = 0.999;
/** Number of answers after which it is known how slow a unit is. */
const ANSWERS_KNOWN = 20;
/** An unknown unit gets its whole time limit once after this many short tries. */
const SHORT_TRIES = 3;
/** A unit that answered within this time is there; one that was asked for within this time still is. */
const RECENT_MS = 10_000;
const WANTED_MS = 2_500;

export class SilentUnits {
  readonly #limits: Limits['field'];
  readonly #units = new Map<number, Unit>();
  /** Before this no resting unit is asked. */
  #spentUntilMs: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The first one that was silent since the last answer of any. */
  #silentUnitId: number | undefined;

  constructor(limits: Limits['field']) {
    this.#limits = limits;
  }

  /** Why the unit is not asked now; undefined: it is. @param queuedAtMs since when the request waits */
  refusal(unitId: number, queuedAtMs: MonotonicMs, nowMs: MonotonicMs): ModbusFault | undefined {
    const unit = this.#unitOf(unitId);
    unit.wantedAtMs = nowMs;
    // A batch for a unit that is off fails as a whole.
    const hasWaited = unit.silences >= this.#limits.silentRequests && queuedAtMs < unit.silentAtMs;
    const mustWait =
      unit.silences >= SILENCES_UNTIL_REST &&
      this.#othersAnswer(unit, nowMs) &&
      (nowMs < unit.restsUntilMs || nowMs < this.#spentUntilMs || this.#isBefore(unit, nowMs));
    if (hasWaited || mustWait) return unit.fault;
    unit.askedAtMs = nowMs;
    return undefined;
  }

  /** How long a read waits for its answer on a serial line; a write gets its whole limit: its outcome must be known. */
  readMs(unitId: number, timeoutMs: DurationMs, nowMs: MonotonicMs): DurationMs {
    const unit = this.#unitOf(unitId);
    if (!this.#othersAnswer(unit, nowMs)) return timeoutMs;
    const { serialAnswerMinMs } = this.#limits;
    if (unit.answers >= ANSWERS_KNOWN)
      return Math.min(timeoutMs, Math.max(serialAnswerMinMs, unit.slowestMs * SLOWEST_FACTOR));
    const isFullTry = unit.silences % (SHORT_TRIES + 1) === 0;
    return isFullTry ? timeoutMs : Math.min(timeoutMs, serialAnswerMinMs * 2);
  }

  /** How long after a timeout the answer may still come. */
  lateMs(unitId: number): DurationMs {
    const { answers, silences, slowestMs } = this.#unitOf(unitId);
    const { listenMsMax, lateAnswerMsMax } = this.#limits;
    if (answers < ANSWERS_KNOWN || silences >= SILENCES_UNTIL_REST) return lateAnswerMsMax;
    return Math.min(lateAnswerMsMax, Math.max(listenMsMax, slowestMs * LATE_FACTOR));
  }

  /** The request to the unit, sent `tookMs` ago, ended with this answer. */
  note(unitId: number, answer: ModbusAnswer, tookMs: DurationMs, nowMs: MonotonicMs): void {
    const fault = answer.ok ? undefined : answer.fault;
    if (fault && (fault.kind === 'timeout' || isUnreached(fault))) this.silent(unitId, tookMs, nowMs, fault);
    // That says nothing of the unit.
    else if (fault?.kind !== 'connection_failed') this.answered(unitId, tookMs, nowMs);
  }

  /** The unit answered `tookMs` after its request was sent. */
  answered(unitId: number, tookMs: DurationMs, nowMs: MonotonicMs): void {
    const unit = this.#unitOf(unitId);
    unit.answers += 1;
    unit.slowestMs = Math.max(tookMs, unit.slowestMs * FADING);
    unit.answeredAtMs = nowMs;
    this.#silentUnitId = undefined;
    if (unit.silences >= this.#limits.silentRequests) {
      this.#spentUntilMs = nowMs;
      for (const other of this.#units.values()) other.restsUntilMs = nowMs;
    }
    unit.silences = 0;
  }

  /** The unit did not answer, or a gateway reports so; it kept others from the line for `heldMs`. */
  silent(unitId: number, heldMs: DurationMs, nowMs: MonotonicMs, fault: ModbusFault): void {
    const unit = this.#unitOf(unitId);
    // A gateway may still wait for the unit before, which it works off first.
    const mayWaitForOther = this.#silentUnitId !== undefined && this.#silentUnitId !== unitId;
    if (mayWaitForOther && nowMs - unit.answeredAtMs < RECENT_MS) return;
    this.#silentUnitId = unitId;
    unit.silences += 1;
    unit.silentAtMs = nowMs;
    unit.fault = fault;
    if (unit.silences < SILENCES_UNTIL_REST) return;
    unit.restsUntilMs = nowMs + Math.min(this.#limits.unitRestMsMax, heldMs * 2 ** unit.silences);
    this.#spentUntilMs = nowMs + heldMs * (100 / this.#limits.silencePercent - 1);
  }

  #unitOf(unitId: number): Unit {
    const never = Number.NEGATIVE_INFINITY;
    return this.#units.getOrInsertComputed(unitId, () => ({
      answers: 0,
      slowestMs: 0,
      answeredAtMs: never,
      silences: 0,
      silentAtMs: never,
      fault: { kind: 'timeout' },
      restsUntilMs: never,
      askedAtMs: never,
      wantedAtMs: never,
    }));
  }

  #othersAnswer(unit: Unit, nowMs: MonotonicMs): boolean {
    for (const other of this.#units.values())
      if (other !== unit && nowMs - other.answeredAtMs < RECENT_MS) return true;
    return false;
  }

  /** Another resting unit has waited longer and still wants to be asked. */
  #isBefore(unit: Unit, nowMs: MonotonicMs): boolean {
    return [...this.#units.values()].some(
      (other) =>
        other.silences >= SILENCES_UNTIL_REST &&
        other.askedAtMs < unit.askedAtMs &&
        nowMs - other.wantedAtMs < WANTED_MS &&
        other.restsUntilMs <= nowMs,
    );
  }
}
