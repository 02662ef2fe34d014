/**
 * Limits refusals in the audit trail, so that a flood of them cannot displace changes: only some are kept individually, the
 * others are summed up. Each person, rule, device and unauthenticated address has its own share, so that nobody can hide
 * the attempts of others. In memory and bounded.
 */
import { addressKey } from '../../lib/address.ts';
import type { Limits } from '../../lib/limits.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { type AuditEntry, NOBODY, OMITTED_REFUSALS } from './model.ts';

interface Subject {
  readonly bucket: TokenBucket;
  readonly isUnauthenticated: boolean;
  omitted: number;
  /** The last refusal that was not kept. */
  last: AuditEntry | undefined;
}

export class Refusals {
  readonly #clock: Clock;
  readonly #limits: Limits['audit'];
  /** In the order of the last refusal. */
  readonly #subjects = new Map<string, Subject>();
  /** Rate that all unauthenticated addresses share, besides their own. */
  readonly #unauthenticated: TokenBucket;
  /** Omitted refusals without a summary of their own, since the last summaries. */
  #others = 0;

  constructor(clock: Clock, limits: Limits['audit']) {
    this.#clock = clock;
    this.#limits = limits;
    this.#unauthenticated = new TokenBucket(
      limits.refusalsPerHour / 3_600,
      limits.refusalBurst,
      clock.monotonicMs(),
    );
  }

  /** True to keep the entry, which is counted otherwise. `person`: who was refused; undefined when unauthenticated. */
  keep(entry: AuditEntry, person: string | undefined): boolean {
    const nowMs = this.#clock.monotonicMs();
    const subject = this.#subjectOf(
      person ?? `address ${addressKey(entry.remoteAddress)}`,
      person === undefined,
    );
    if (subject.bucket.take(nowMs) && (!subject.isUnauthenticated || this.#unauthenticated.take(nowMs)))
      return true;
    subject.omitted++;
    subject.last = entry;
    return false;
  }

  /** One entry for each subject with omitted refusals since the last call. */
  summaries(): AuditEntry[] {
    const nowMs = this.#clock.monotonicMs();
    const atMs = this.#clock.wallMs();
    const summaries: AuditEntry[] = [];
    for (const subject of this.#subjects.values()) {
      const { last, omitted, isUnauthenticated } = subject;
      if (!last) continue;
      subject.omitted = 0;
      subject.last = undefined;
      if (isUnauthenticated && !this.#unauthenticated.take(nowMs)) this.#others += omitted;
      else
        summaries.push({
          ...last,
          atMs,
          operation: OMITTED_REFUSALS,
          target: { count: String(omitted), last_operation: last.operation },
        });
    }
    if (this.#others > 0) {
      const target = { count: String(this.#others) };
      summaries.push({ atMs, origin: NOBODY, operation: OMITTED_REFUSALS, target, status: 429 });
      this.#others = 0;
    }
    return summaries;
  }

  #subjectOf(key: string, isUnauthenticated: boolean): Subject {
    const { refusalsOfOne, refusalsOfOnePerHour, refusalSubjects } = this.#limits;
    const nowMs = this.#clock.monotonicMs();
    const subject: Subject = this.#subjects.get(key) ?? {
      bucket: new TokenBucket(refusalsOfOnePerHour / 3_600, refusalsOfOne, nowMs),
      isUnauthenticated,
      omitted: 0,
      last: undefined,
    };
    this.#subjects.delete(key);
    this.#subjects.set(key, subject);
    for (const [oldest, { omitted }] of this.#subjects) {
      if (this.#subjects.size <= refusalSubjects) break;
      this.#subjects.delete(oldest);
      this.#others += omitted;
    }
    return subject;
  }
}
