/**
 * How long to wait for each unit of a shared serial line. While one unit is silent, nobody else can ask: without
 * rules every silent unit costs the others its whole time limit, again and again. So, while others answer:
 *
 * - a unit that has answered before gets a few times its slowest answer, not more;
 * - all silent units together get a small share of the line's time; those that have waited longest come first,
 *   the requests of the rest fail at once;
 * - the first one that answers again gives hope: the others are asked once, at once.
 *
 * A unit that is alone on its line has the whole time limit of its script.
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';

interface Unit {
  answers: number;
  /** Fades, so that one slow answer is forgotten. */
  slowestMs: DurationMs;
  answeredAtMs: MonotonicMs;
  /** Requests without an answer, in a row. */
  silences: number;
  restsUntilMs: MonotonicMs;
  askedAtMs: MonotonicMs;
  wantedAtMs: MonotonicMs;
}

/** An answer may be somewhat later than the slowest one so far. */
const SLOWEST_FACTOR = 3;
const FADING = 0.999;
/** Number of answers after which it is known how slow a unit is. */
const ANSWERS_KNOWN = 20;
/** An unknown unit gets its whole time limit once after this many short tries. */
const SHORT_TRIES = 3;
/** A unit that answered within this time is on the line; one that was asked for within this time still is. */
const RECENT_MS = 10_000;
const WANTED_MS = 2_500;
/** A request later than this after a lost answer belongs to the next poll. */
const SLIP_MS = 500;

export class AdaptiveTimeout {
  readonly #limits: Limits['field'];
  readonly #units = new Map<number, Unit>();
  /** Before this no silent unit is asked. */
  #lostUntilMs: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(limits: Limits['field']) {
    this.#limits = limits;
  }

  /** How long to wait for the answer; undefined: the unit is not asked now. */
  grant(unitId: number, isRead: boolean, timeoutMs: DurationMs, nowMs: MonotonicMs): number | undefined {
    const unit = this.#unitOf(unitId);
    unit.wantedAtMs = nowMs;
    if (nowMs < unit.restsUntilMs) return undefined;
    const isShared = this.#othersAnswer(unit, nowMs);
    const mustWait = nowMs < this.#lostUntilMs || this.#isBefore(unit, nowMs);
    if (isShared && unit.silences > 0 && mustWait && !this.#isSlip(unit, nowMs)) return undefined;
    unit.askedAtMs = nowMs;
    // A write gets the whole time: its outcome must be known.
    return isShared && isRead ? this.#shortened(unit, timeoutMs) : timeoutMs;
  }

  /** The unit answered `tookMs` after its request was sent. */
  answered(unitId: number, tookMs: DurationMs, nowMs: MonotonicMs): void {
    const unit = this.#unitOf(unitId);
    unit.answers += 1;
    unit.slowestMs = Math.max(tookMs, unit.slowestMs * FADING);
    unit.answeredAtMs = nowMs;
    if (unit.silences === 0) return;
    unit.silences = 0;
    this.#lostUntilMs = nowMs;
    for (const other of this.#units.values()) other.restsUntilMs = nowMs;
  }

  /** The unit did not answer; the line was held for `heldMs`. */
  silent(unitId: number, heldMs: DurationMs, nowMs: MonotonicMs): void {
    const unit = this.#unitOf(unitId);
    unit.silences += 1;
    if (unit.silences >= this.#limits.silentRequests)
      unit.restsUntilMs = nowMs + this.#limits.serialUnitRestMs;
    this.#lostUntilMs = nowMs + heldMs * (100 / this.#limits.serialSilencePercent - 1);
  }

  #unitOf(unitId: number): Unit {
    const never = Number.NEGATIVE_INFINITY;
    return this.#units.getOrInsertComputed(unitId, () => ({
      answers: 0,
      slowestMs: 0,
      answeredAtMs: never,
      silences: 0,
      restsUntilMs: never,
      askedAtMs: never,
      wantedAtMs: never,
    }));
  }

  #othersAnswer(unit: Unit, nowMs: MonotonicMs): boolean {
    return [...this.#units.values()].some(
      (other) => other !== unit && nowMs - other.answeredAtMs < RECENT_MS,
    );
  }

  /** Another silent unit has waited longer and still wants to be asked. */
  #isBefore(unit: Unit, nowMs: MonotonicMs): boolean {
    return [...this.#units.values()].some(
      (other) =>
        other.silences > 0 &&
        other.askedAtMs < unit.askedAtMs &&
        nowMs - other.wantedAtMs < WANTED_MS &&
        other.restsUntilMs <= nowMs,
    );
  }

  /** One lost answer of the only one that lost any is no silence yet: its next poll is asked as ever. */
  #isSlip(unit: Unit, nowMs: MonotonicMs): boolean {
    if (unit.silences !== 1 || nowMs - unit.askedAtMs < SLIP_MS) return false;
    return [...this.#units.values()].every((other) => other === unit || other.silences === 0);
  }

  #shortened(unit: Unit, timeoutMs: DurationMs): number {
    if (unit.answers >= ANSWERS_KNOWN)
      return Math.min(timeoutMs, Math.max(this.#limits.serialAnswerMinMs, unit.slowestMs * SLOWEST_FACTOR));
    const isFullTry = unit.silences % (SHORT_TRIES + 1) === 0;
    return isFullTry ? timeoutMs : Math.min(timeoutMs, this.#limits.serialAnswerMinMs * 2);
  }
}
