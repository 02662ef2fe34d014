/** Logs of rules: limited in rate, stored by group commit, told after commit (docs/interface/lua-rules.md#logs). */
import type { Emitter } from '../../lib/emitter.ts';
import type { Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { SqlDatabase, GroupCommit } from '../../platform/sqlite/index.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';
import { createRuleLogStore } from './log-store.ts';
import type { RuleEvents, RuleLogEntry } from './model.ts';

export interface RuleLogs {
  /** Adds an entry, stamped now. Does not wait for the disk and does not fail. */
  append(ruleId: string, severity: LogSeverity, message: string): void;
  /** The newest entries, oldest of them first. */
  list(
    ruleId: string,
    query: { severities: readonly LogSeverity[] | undefined; limit: number; offset: number },
  ): { entries: RuleLogEntry[]; totalCount: number };
  forget(ruleId: string): void;
  /** Forgets rules that are gone. */
  keepOnly(ruleIds: ReadonlySet<string>): void;
  stop(): Promise<void>;
}

interface Flow {
  bucket: TokenBucket;
  droppedCount: number;
  summary: Timer | undefined;
}

/** How often the oldest entries of a rule are removed. */
const TRIM_EVERY = 100;
const SUMMARY_AFTER_MS = 1_000;

export function createRuleLogs(options: {
  history: SqlDatabase;
  commits: GroupCommit;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits: Limits['rules'];
  events: Emitter<RuleEvents>;
  /** What all entries may take on the disk; default: no limit. */
  logSizeMaxBytes?: () => number;
  /** Told how many of them were removed before their time, because there was no more room. */
  onLogsRemovedEarly?: (count: number) => void;
}): RuleLogs {
  const { history, commits, clock, log, limits, events } = options;
  const store = createRuleLogStore(history);
  const flows = new Map<string, Flow>();
  const stored = new Map<string, number>();
  let pending: RuleLogEntry[] = [];
  let writtenCount = 0;
  const dropped = options.metrics.counter('rule_logs_dropped_total', 'Log entries of rules not stored.', [
    'reason',
  ]);

  /** The rule with the most bytes loses its oldest entries. */
  function makeRoom(): void {
    const maxBytes = options.logSizeMaxBytes?.() ?? Number.POSITIVE_INFINITY;
    while (store.totalBytes() > maxBytes) {
      const largest = store.largest();
      const removed = largest === undefined ? 0 : store.removeOldest(largest, TRIM_EVERY);
      if (removed === 0) return;
      options.onLogsRemovedEarly?.(removed);
    }
  }

  commits.join({
    write: () => {
      writtenCount = pending.length;
      for (const entry of pending) store.insert(entry);
      for (const ruleId of new Set(pending.map((entry) => entry.ruleId)))
        if ((stored.get(ruleId) ?? TRIM_EVERY) >= TRIM_EVERY) store.trim(ruleId, limits.logEntries);
      if (pending.length > 0) makeRoom();
    },
    committed: () => {
      const written = pending.slice(0, writtenCount);
      pending = pending.slice(writtenCount);
      for (const entry of written) {
        const count = stored.get(entry.ruleId) ?? TRIM_EVERY;
        stored.set(entry.ruleId, count >= TRIM_EVERY ? 1 : count + 1);
        events.emit('log_entry', { entry });
      }
    },
  });

  function flowOf(ruleId: string): Flow {
    let flow = flows.get(ruleId);
    if (!flow) {
      const bucket = new TokenBucket(limits.logsPerSecond, limits.logsPerSecond, clock.monotonicMs());
      flows.set(ruleId, (flow = { bucket, droppedCount: 0, summary: undefined }));
    }
    return flow;
  }

  function add(ruleId: string, severity: LogSeverity, message: string): void {
    const entry = {
      ruleId,
      receivedAtMs: clock.wallMs(),
      severity,
      message: cutToBytes(message.toWellFormed(), limits.logMessageBytes),
    };
    const sizeBytes = Buffer.byteLength(entry.message);
    if (commits.isFull(sizeBytes)) dropped.inc({ reason: 'disk' });
    else pending.push(entry);
    commits.request(sizeBytes).catch((error: unknown) => {
      log.warnLimited('rule-log', 60_000, 'log entries of rules could not be stored', { error });
    });
    log.debug('rule log', { rule_id: ruleId, severity, text: entry.message });
  }

  function summarize(ruleId: string, flow: Flow): void {
    flow.summary = undefined;
    const count = flow.droppedCount;
    flow.droppedCount = 0;
    add(
      ruleId,
      'warning',
      `${count} log entries were dropped: a rule may write ${limits.logsPerSecond} per second.`,
    );
  }

  function forget(ruleId: string): void {
    flows.get(ruleId)?.summary?.cancel();
    flows.delete(ruleId);
    stored.delete(ruleId);
    pending = pending.filter((entry) => entry.ruleId !== ruleId);
    try {
      history.transaction(() => store.removeRule(ruleId));
    } catch (error) {
      log.warn('logs of a deleted rule stay until the next start', { rule_id: ruleId, error });
    }
  }

  return {
    append: (ruleId, severity, message) => {
      const flow = flowOf(ruleId);
      if (flow.bucket.take(clock.monotonicMs())) return add(ruleId, severity, message);
      dropped.inc({ reason: 'rate' });
      flow.droppedCount++;
      flow.summary ??= clock.setTimer(SUMMARY_AFTER_MS, () => summarize(ruleId, flow));
    },
    list: (ruleId, { severities, limit, offset }) => {
      // What waits for the disk was said as well.
      const fresh = pending
        .filter((entry) => entry.ruleId === ruleId && (severities?.includes(entry.severity) ?? true))
        .reverse();
      const page = fresh.slice(offset, offset + limit);
      const stored = store.newest(
        ruleId,
        severities,
        limit - page.length,
        Math.max(0, offset - fresh.length),
      );
      return {
        entries: [...page, ...stored].reverse(),
        totalCount: fresh.length + store.count(ruleId, severities),
      };
    },
    forget,
    keepOnly: (ruleIds) => {
      try {
        for (const ruleId of store.ruleIds()) if (!ruleIds.has(ruleId)) forget(ruleId);
      } catch (error) {
        log.warn('logs of rules that are gone stay until the next start', { error });
      }
    },
    stop: async () => {
      for (const [ruleId, flow] of flows)
        if (flow.summary) {
          flow.summary.cancel();
          summarize(ruleId, flow);
        }
      try {
        await commits.flush();
      } catch (error) {
        log.warn('the last log entries of rules could not be stored', { error });
      }
    },
  };
}
