/** Alerts of the site: what was raised, since when, until when, and who has seen it. */
import type { EpochMs } from '../../lib/time.ts';
import type { Present } from '../../platform/sqlite/index.ts';
import type { alert } from './tables.ts';

/** Name of the alert that the gateway raises for a device that stays away. */
export const OFFLINE = 'offline';
/** And for one that is connected and sends nothing any more. */
export const SILENT = 'silent';

/** One alert; what is NULL in its row is absent. */
export type Alert = Readonly<Present<typeof alert.$inferSelect>>;
export type AlertSeverity = Alert['severity'];
export type AlertSource = Alert['source'];

/** What became of an alert. */
export interface AlertChange {
  /** LASTING: it is still raised after its grace period; one without such a period is so at once. */
  readonly kind: 'RAISED' | 'LASTING' | 'CLEARED' | 'ACKNOWLEDGED';
  /** As it is now. */
  readonly alert: Alert;
}

/** An absent filter does not restrict. */
export interface AlertFilter {
  isActive?: boolean | undefined;
  isAcknowledged?: boolean | undefined;
  deviceIds?: readonly string[] | undefined;
  severities?: readonly AlertSeverity[] | undefined;
  /** Those that were still raised then. */
  fromMs?: EpochMs | undefined;
  /** Those that were raised before. */
  beforeMs?: EpochMs | undefined;
}
