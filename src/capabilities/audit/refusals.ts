/**
 * Of a flood of refusals only some are kept one by one, so that they cannot push changes out; the others are counted
 * and told together. Each person, rule, device and strange address has a share of its own, so that nobody hides what
 * others try. In memory and bounded.
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
  /** The last one that was not kept. */
  last: AuditEntry | undefined;
}

export class Refusals {
  readonly #clock: Clock;
  readonly #limits: Limits['audit'];
  /** The one that was refused longest ago is first. */
  readonly #subjects = new Map<string, Subject>();
  /** What all strange addresses share beside their own. */
  readonly #unauthenticated: TokenBucket;
  /** Of unauthenticated callers that are not told one by one, since the last time. */
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

  /** True when the entry is to be kept; else it is counted. `person` says who was refused, unless nobody authenticated. */
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

  /** One entry for each who was refused more often than was kept, since the last time. */
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
