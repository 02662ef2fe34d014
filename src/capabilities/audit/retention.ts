/** Deletes entries of the audit trail that are too old or too many, in small bites. */
import type { Limits } from '../../lib/limits.ts';
import { type Clock, createAgeJudge, createStampCorrector, type Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { AuditStore } from './store.ts';

export function createRetention(options: {
  database: Database;
  store: AuditStore;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits: Limits['audit'];
  settleMs: number;
}): { start(): void; stop(): void } {
  const { database, store, clock, log, limits, settleMs } = options;
  const failures = options.metrics.counter(
    'audit_retention_failures_total',
    'Rounds of deleting old audit entries that failed.',
  );
  const age = createAgeJudge({
    clock,
    lifetimeMs: limits.lifetimeMs,
    settleMs,
    newestNumber: store.newestNumber(),
  });
  const corrector = createStampCorrector(clock, () => attempt(restamp));
  let timer: Timer | undefined;

  /** One bite; true when there may be more to delete. */
  function deleteSome(): boolean {
    const { deletedAtOnce, entries, automaticEntries } = limits;
    age.note(store.newestNumber());
    const old = age.old();
    const removed = database.transaction(() => [
      old ? store.removeOld(old.beforeMs, old.throughNumber, deletedAtOnce) : 0,
      store.removeAutomatic(automaticEntries, deletedAtOnce),
      store.removeExcess(entries, deletedAtOnce),
    ]);
    return removed.includes(deletedAtOnce);
  }

  function restamp(): boolean {
    const correction = corrector.correction();
    if (correction) database.transaction(() => store.restamp(correction));
    return false;
  }

  function attempt(work: () => boolean): boolean {
    try {
      return work();
    } catch (error) {
      // A disk that takes no data must not end the gateway; the next round tries again.
      failures.inc();
      log.warnLimited('audit retention', 3_600_000, 'audit trail could not be tended', { error });
      return false;
    }
  }

  function round(): void {
    const more = attempt(deleteSome);
    timer = clock.setTimer(more ? limits.retentionPauseMs : limits.retentionIntervalMs, round);
  }

  return {
    start: () => {
      attempt(restamp);
      round();
    },
    stop: () => {
      timer?.cancel();
      corrector.stop();
      age.stop();
    },
  };
}
