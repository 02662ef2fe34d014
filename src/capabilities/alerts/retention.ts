/** Deletes alerts that are over and too old or too many, in small batches. */
import type { Limits } from '../../lib/limits.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import { RetentionLoop, type ScarceRoom } from '../../platform/retention/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import type { AlertStore } from './store.ts';

export function createAlertRetention(
  options: Instruments & {
    database: Database;
    store: AlertStore;
    limits: Limits['alerts'];
    room?: ScarceRoom | undefined;
    /** Stamps were corrected. */
    onRestamped: () => void;
  },
): RetentionLoop {
  const { database, store, clock, log, limits, room, onRestamped } = options;
  const { deletedAtOnce, kept, keptPerDevice, keptWhenScarce, lifetimeMs } = limits;
  return new RetentionLoop({
    clock,
    log,
    limits,
    room,
    what: 'alerts',
    failures: options.metrics.counter(
      'alert_retention_failures_total',
      'Rounds of deleting old alerts that failed.',
    ),
    deleteBatch: () => {
      const old = clock.proven.olderThan(lifetimeMs);
      const removed = database.transaction(() => [
        old ? store.removeOld(old, deletedAtOnce) : 0,
        store.removeExcessOfOne(keptPerDevice, deletedAtOnce),
        store.removeExcess(room?.isScarce ? keptWhenScarce : kept, deletedAtOnce),
      ]);
      return removed.includes(deletedAtOnce);
    },
    restamp: (correction) => {
      database.transaction(() => store.restamp(correction));
      onRestamped();
    },
  });
}
