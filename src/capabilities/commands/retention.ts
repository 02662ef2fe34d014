/**
 * Deletes executions that are too old or too many, in small bites. Source: http-contract.md 9.6: ephemeral
 * ones live 24 hours, others 90 days. The number per device is kept at insertion; the number in all here.
 */
import type { Limits } from '../../lib/limits.ts';
import { type Clock, createAgeJudge, createStampCorrector, type Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { CommandStore } from './store.ts';

export function createRetention(options: {
  database: Database;
  store: CommandStore;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits: Limits['commands'];
  settleMs: number;
}): { start(): void; stop(): void } {
  const { database, store, clock, log, limits, settleMs } = options;
  const deleted = options.metrics.counter('executions_deleted_total', 'Executions deleted by retention.');
  const failures = options.metrics.counter(
    'execution_retention_failures_total',
    'Retention rounds that failed.',
  );
  const judge = (lifetimeMs: number) =>
    createAgeJudge({ clock, lifetimeMs, settleMs, newestNumber: store.newestNumber() });
  const judges = [
    { ephemeral: true, age: judge(limits.ephemeralLifetimeMs) },
    { ephemeral: false, age: judge(limits.persistentLifetimeMs) },
  ];
  let timer: Timer | undefined;
  const corrector = createStampCorrector(clock, restamp);

  /** One bite; true when there may be more to delete. */
  function deleteSome(): boolean {
    const newestNumber = store.newestNumber();
    let found = false;
    for (const { ephemeral, age } of judges) {
      age.note(newestNumber);
      const old = age.old();
      if (old && removed(() => store.removeOld(ephemeral, old, limits.deletedAtOnce))) found = true;
    }
    const surplus = store.countAll() - limits.executions;
    if (surplus > 0 && removed(() => store.trimAll(Math.min(surplus, limits.deletedAtOnce)))) found = true;
    return found;
  }

  /** True when a full bite was taken. */
  function removed(remove: () => number): boolean {
    const count = database.transaction(remove);
    deleted.inc(count);
    return count === limits.deletedAtOnce;
  }

  function round(): void {
    let more = false;
    try {
      more = deleteSome();
    } catch (error) {
      failures.inc();
      log.warnLimited('retention', 3_600_000, 'old executions could not be deleted', { error });
    }
    timer = clock.setTimer(more ? limits.retentionPauseMs : limits.retentionIntervalMs, round);
  }

  function restamp(): void {
    const correction = corrector.correction();
    if (!correction) return;
    try {
      database.transaction(() => store.restamp(correction));
    } catch (error) {
      failures.inc();
      log.warn('executions keep the time of the unset clock', { error });
    }
  }

  return {
    start: () => {
      restamp();
      round();
    },
    stop: () => {
      timer?.cancel();
      corrector.stop();
      for (const { age } of judges) age.stop();
    },
  };
}
