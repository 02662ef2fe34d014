import type { DurationMs, MonotonicMs } from './time.ts';

interface Round {
  readonly endsMs: MonotonicMs;
  readonly subjects: Set<string>;
}

interface ReportLimits {
  /** A fault is reported again after this. */
  intervalMs: DurationMs;
  /** Subjects of one owner that are reported within that time. */
  perOwner: number;
  /** Owners that are counted individually at once; further ones are counted together. */
  owners: number;
}

/** No owner has this name. */
const EVERYBODY_ELSE = '';

/**
 * Limits reports of faults: each fault is reported once in a while, and only so many of one owner, so that the
 * memory and disk that they cost are bounded. Pure; the caller hands in the time.
 */
export class ReportThrottle {
  readonly #limits: ReportLimits;
  /** In the order in which they end. */
  readonly #rounds = new Map<string, Round>();

  constructor(limits: ReportLimits) {
    this.#limits = limits;
  }

  /**
   * The sentence to report, undefined when it is one too many. The last one of its time says that more are kept
   * back.
   * @param owner whose faults are counted together
   * @param subject what is reported once, such as the name of a value with what is wrong
   * @param nowMs monotonic
   */
  report(owner: string, subject: string, sentence: string, nowMs: MonotonicMs): string | undefined {
    this.#endRounds(nowMs);
    const { owners, perOwner } = this.#limits;
    const isOwn = this.#rounds.has(owner) || this.#rounds.size < owners;
    const key = isOwn ? owner : EVERYBODY_ELSE;
    const { subjects } = this.#rounds.get(key) ?? this.#begin(key, nowMs);
    const counted = isOwn ? subject : `${owner} ${subject}`;
    if (subjects.size >= perOwner || subjects.has(counted)) return undefined;
    subjects.add(counted);
    return subjects.size < perOwner ? sentence : `${sentence} Further faults are not listed for a while.`;
  }

  forget(owner: string): void {
    this.#rounds.delete(owner);
  }

  #endRounds(nowMs: MonotonicMs): void {
    for (const [owner, { endsMs }] of this.#rounds) {
      if (endsMs > nowMs) return;
      this.#rounds.delete(owner);
    }
  }

  #begin(owner: string, nowMs: MonotonicMs): Round {
    const round = { endsMs: nowMs + this.#limits.intervalMs, subjects: new Set<string>() };
    this.#rounds.set(owner, round);
    return round;
  }
}
