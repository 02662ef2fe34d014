/**
 * What is told of somebody's faults: each once in a while, and of one who makes ever new ones only so many, so
 * that faults cost neither memory nor disk without a bound. Pure; the caller hands in the time.
 */

export interface Complaints {
  /**
   * The sentence as it is to be told, undefined when it is not. The last one of its time says that more are kept
   * back.
   * @param owner whose faults are counted together
   * @param subject what is told once, such as the name of a value with what is wrong
   * @param nowMs monotonic
   */
  tell(owner: string, subject: string, sentence: string, nowMs: number): string | undefined;
  forget(owner: string): void;
}

interface Round {
  readonly endsMs: number;
  readonly subjects: Set<string>;
}

/** Owners whose rounds may have ended are looked through at this number and its multiples. */
const OWNERS_BETWEEN_SWEEPS = 1_000;

/** @param limits.perOwner different subjects of one owner within `limits.intervalMs` */
export function createComplaints(limits: { intervalMs: number; perOwner: number }): Complaints {
  const rounds = new Map<string, Round>();

  function begin(owner: string, nowMs: number): Round {
    if (rounds.size > 0 && rounds.size % OWNERS_BETWEEN_SWEEPS === 0)
      for (const [name, { endsMs }] of rounds) if (nowMs >= endsMs) rounds.delete(name);
    const round = { endsMs: nowMs + limits.intervalMs, subjects: new Set<string>() };
    rounds.set(owner, round);
    return round;
  }

  return {
    tell: (owner, subject, sentence, nowMs) => {
      let round = rounds.get(owner);
      if (!round || nowMs >= round.endsMs) round = begin(owner, nowMs);
      const { subjects } = round;
      if (subjects.size >= limits.perOwner || subjects.has(subject)) return undefined;
      subjects.add(subject);
      return subjects.size < limits.perOwner
        ? sentence
        : `${sentence} Further faults are not listed for a while.`;
    },
    forget: (owner) => void rounds.delete(owner),
  };
}
