/** Logs of rules: limited in rate, stored by group commit, emitted after commit (docs/interface/lua-rules.md#logs). */
import type { Emitter } from '../../lib/emitter.ts';
import type { Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Timer } from '../../platform/clock/index.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { SqlDatabase, GroupCommit } from '../../platform/sqlite/index.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';
import type { RuleEvents, RuleLogEntry } from './model.ts';
import { createRuleLogStore } from './store.ts';

interface Flow {
  bucket: TokenBucket;
  droppedCount: number;
  summary: Timer | undefined;
}

/** How often the oldest entries of a rule are removed. */
const TRIM_EVERY = 100;
const SUMMARY_AFTER_MS = 1_000;

interface RuleLogsOptions extends Instruments {
  history: SqlDatabase;
  commits: GroupCommit;
  limits: Limits['rules'];
  events: Emitter<RuleEvents>;
  /** False for a deleted rule, whose last entries would never be removed. */
  isKnown: (ruleId: string) => boolean;
  /** Largest size of all entries on the disk; default: no limit. */
  logSizeMaxBytes?: () => number;
  /** Called with the number of entries that were removed early for lack of room. */
  onLogsRemovedEarly?: (count: number) => void;
}

export class RuleLogs {
  readonly #options: RuleLogsOptions;
  readonly #store: ReturnType<typeof createRuleLogStore>;
  readonly #flows = new Map<string, Flow>();
  readonly #stored = new Map<string, number>();
  #pending: RuleLogEntry[] = [];
  #writtenCount = 0;
  /** No number is used twice, even if its entry was deleted, because readers continue after the last number they have. */
  #newestNumber = 0;
  #writtenNumber = 0;
  readonly #dropped;

  constructor(options: RuleLogsOptions) {
    this.#options = options;
    this.#store = createRuleLogStore(options.history);
    this.#dropped = options.metrics.counter('rule_logs_dropped_total', 'Log entries of rules not stored.', {
      reason: ['rate', 'disk'],
    });
    options.commits.join({
      write: () => {
        this.#writtenCount = this.#pending.length;
        this.#writtenNumber = this.newestNumber();
        for (const entry of this.#pending) this.#store.insert(entry, ++this.#writtenNumber);
        for (const ruleId of new Set(this.#pending.map((entry) => entry.ruleId)))
          if ((this.#stored.get(ruleId) ?? TRIM_EVERY) >= TRIM_EVERY)
            this.#store.trim(ruleId, this.#options.limits.logEntries);
        if (this.#pending.length > 0) this.#makeRoom();
      },
      committed: () => {
        const written = this.#pending.slice(0, this.#writtenCount);
        this.#pending = this.#pending.slice(this.#writtenCount);
        this.#newestNumber = this.#writtenNumber;
        for (const entry of written) {
          const count = this.#stored.get(entry.ruleId) ?? TRIM_EVERY;
          this.#stored.set(entry.ruleId, count >= TRIM_EVERY ? 1 : count + 1);
          options.events.emit('log_entry', { entry });
        }
      },
    });
  }

  forget(ruleId: string): void {
    this.#flows.get(ruleId)?.summary?.cancel();
    this.#flows.delete(ruleId);
    this.#stored.delete(ruleId);
    this.#pending = this.#pending.filter((entry) => entry.ruleId !== ruleId);
    try {
      this.#newestNumber = this.newestNumber();
      this.#options.history.transaction(() => this.#store.removeRule(ruleId));
    } catch (error) {
      this.#options.log.warn('logs of a deleted rule stay until the next start', { rule_id: ruleId, error });
    }
  }

  /** Adds an entry, stamped now. Does not wait for the disk and does not fail. */
  append(ruleId: string, severity: LogSeverity, message: string): void {
    if (!this.#options.isKnown(ruleId)) return;
    const flow = this.#flowOf(ruleId);
    if (flow.bucket.take(this.#options.clock.monotonicMs())) return this.#add(ruleId, severity, message);
    this.#dropped.inc({ reason: 'rate' });
    flow.droppedCount++;
    flow.summary ??= this.#options.clock.setTimer(SUMMARY_AFTER_MS, () => this.#summarize(ruleId, flow));
  }

  /** The newest entries, oldest of them first. */
  list(
    ruleId: string,
    {
      severities,
      limit,
      offset,
    }: { severities: readonly LogSeverity[] | undefined; limit: number; offset: number },
  ): { entries: RuleLogEntry[]; totalCount: number } {
    // Entries that wait for the disk are listed, too.
    const fresh = this.#pending
      .filter((entry) => entry.ruleId === ruleId && (severities?.includes(entry.severity) ?? true))
      .reverse();
    const page = fresh.slice(offset, offset + limit);
    const stored = this.#store.newest(
      ruleId,
      severities,
      limit - page.length,
      Math.max(0, offset - fresh.length),
    );
    return {
      entries: [...page, ...stored].reverse(),
      totalCount: fresh.length + this.#store.count(ruleId, severities),
    };
  }

  /** Entries of all rules with a number above, in their order. */
  after(number: number, limit: number): (RuleLogEntry & { number: number })[] {
    return this.#store.after(number, limit);
  }

  /** Number of the entry that was stored last. */
  newestNumber(): number {
    return Math.max(this.#newestNumber, this.#store.newestNumber());
  }

  /** Deletes the logs of all other rules. */
  keepOnly(ruleIds: ReadonlySet<string>): void {
    try {
      for (const ruleId of this.#store.ruleIds()) if (!ruleIds.has(ruleId)) this.forget(ruleId);
    } catch (error) {
      this.#options.log.warn('logs of rules that are gone stay until the next start', { error });
    }
  }

  async stop(): Promise<void> {
    for (const [ruleId, flow] of this.#flows)
      if (flow.summary) {
        flow.summary.cancel();
        this.#summarize(ruleId, flow);
      }
    try {
      await this.#options.commits.flush();
    } catch (error) {
      this.#options.log.warn('the last log entries of rules could not be stored', { error });
    }
  }

  /** The rule with the most bytes loses its oldest entries. */
  #makeRoom(): void {
    const maxBytes = this.#options.logSizeMaxBytes?.() ?? Number.POSITIVE_INFINITY;
    while (this.#store.totalBytes() > maxBytes) {
      const largest = this.#store.largest();
      const removed = largest === undefined ? 0 : this.#store.removeOldest(largest, TRIM_EVERY);
      if (removed === 0) return;
      this.#options.onLogsRemovedEarly?.(removed);
    }
  }

  #flowOf(ruleId: string): Flow {
    return this.#flows.getOrInsertComputed(ruleId, () => {
      // The sandbox counts what a script writes; its own entries come in addition.
      const perSecond = this.#options.limits.logsPerSecond + 2 * this.#options.limits.ownLogsPerSecond;
      const bucket = new TokenBucket(perSecond, perSecond, this.#options.clock.monotonicMs());
      return { bucket, droppedCount: 0, summary: undefined };
    });
  }

  #add(ruleId: string, severity: LogSeverity, message: string): void {
    const entry = {
      ruleId,
      receivedAtMs: this.#options.clock.wallMs(),
      severity,
      message: cutToBytes(message.toWellFormed(), this.#options.limits.logMessageBytes),
    };
    const sizeBytes = Buffer.byteLength(entry.message);
    if (this.#options.commits.isFull(sizeBytes)) this.#dropped.inc({ reason: 'disk' });
    else this.#pending.push(entry);
    this.#options.commits.request(sizeBytes).catch((error: unknown) => {
      this.#options.log.warnLimited('rule-log', 60_000, 'log entries of rules could not be stored', {
        error,
      });
    });
    this.#options.log.debug('rule log', { rule_id: ruleId, severity, text: entry.message });
  }

  #summarize(ruleId: string, flow: Flow): void {
    flow.summary = undefined;
    const count = flow.droppedCount;
    flow.droppedCount = 0;
    this.#add(
      ruleId,
      'warning',
      `${count} log entries were dropped: a rule may write ${this.#options.limits.logsPerSecond} per second.`,
    );
  }
}
