/** Deletes entries of the audit trail that are too old or too many, in small batches. */
import type { Limits } from '../../lib/limits.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { RetentionLoop, type ScarceRoom } from '../../platform/retention/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { AuditStore } from './store.ts';

export function createRetention(
  options: Instruments & {
    database: Database;
    store: AuditStore;
    limits: Limits['audit'];
    room?: ScarceRoom | undefined;
  },
): RetentionLoop {
  const { database, store, clock, log, limits, room } = options;
  const { deletedAtOnce, entries, entriesWhenScarce, automaticEntries, lifetimeMs } = limits;
  return new RetentionLoop({
    clock,
    log,
    limits,
    room,
    what: 'audit trail',
    failures: options.metrics.counter(
      'audit_retention_failures_total',
      'Rounds of deleting old audit entries that failed.',
    ),
    deleteBatch: () => {
      const old = clock.proven.olderThan(lifetimeMs);
      const kept = room?.isScarce ? Math.min(entries, entriesWhenScarce) : entries;
      const removed = database.transaction(() => [
        old ? store.removeOld(old, deletedAtOnce) : 0,
        store.removeAutomatic(automaticEntries, deletedAtOnce),
        store.removeExcess(kept, deletedAtOnce),
      ]);
      return removed.includes(deletedAtOnce);
    },
    restamp: (correction) => database.transaction(() => store.restamp(correction)),
  });
}
