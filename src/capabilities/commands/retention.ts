/**
 * Deletes executions that are too old or too many, in small batches. Source: docs/interface/http.md#commands: ephemeral
 * ones live 24 hours, others 90 days. Insertion limits the number per device; this limits the total.
 */
import type { Limits } from '../../lib/limits.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { RetentionLoop, type ScarceRoom } from '../../platform/retention/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { CommandStore } from './store.ts';

export function createRetention(
  options: Instruments & {
    database: Database;
    store: CommandStore;
    limits: Limits['commands'];
    room?: ScarceRoom | undefined;
  },
): RetentionLoop {
  const { database, store, clock, log, limits, room } = options;
  const deleted = options.metrics.counter('executions_deleted_total', 'Executions deleted by retention.');
  const lifetimes = [
    { ephemeral: true, lifetimeMs: limits.ephemeralLifetimeMs },
    { ephemeral: false, lifetimeMs: limits.persistentLifetimeMs },
  ];

  /** True when a full batch was taken. */
  function removed(remove: () => number): boolean {
    const count = database.transaction(remove);
    deleted.inc(count);
    return count === limits.deletedAtOnce;
  }

  return new RetentionLoop({
    clock,
    log,
    limits,
    room,
    what: 'executions',
    failures: options.metrics.counter('execution_retention_failures_total', 'Retention rounds that failed.'),
    deleteBatch: () => {
      let hasMore = false;
      for (const { ephemeral, lifetimeMs } of lifetimes) {
        const old = clock.proven.olderThan(lifetimeMs);
        if (old && removed(() => store.removeOld(ephemeral, old, limits.deletedAtOnce))) hasMore = true;
      }
      const kept = room?.isScarce
        ? Math.min(limits.executions, limits.executionsWhenScarce)
        : limits.executions;
      const surplus = store.countAll() - kept;
      if (surplus > 0 && removed(() => store.trimAll(Math.min(surplus, limits.deletedAtOnce))))
        hasMore = true;
      return hasMore;
    },
    restamp: (correction) => database.transaction(() => store.restamp(correction)),
  });
}
