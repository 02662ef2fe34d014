/** Alerts of the site: what was raised, since when, until when, and who has seen it. */

/** Lowest first, as manifests name them (docs/interface/blueprints.md#alerts). */
export const ALERT_SEVERITIES = ['info', 'warning', 'error'] as const;
/** The lightest first. */
export type AlertSeverity = (typeof ALERT_SEVERITIES)[number];

/** GATEWAY: what the gateway says of a device that cannot say it itself. */
export const ALERT_SOURCES = ['DEVICE', 'GATEWAY'] as const;
export type AlertSource = (typeof ALERT_SOURCES)[number];

/** Name of the alert that the gateway raises for a device that stays away. */
export const OFFLINE = 'offline';

/** One alert from when it was raised to when it was cleared. */
export interface Alert {
  /** Grows with every alert, whatever the wall clock says. */
  readonly number: number;
  readonly id: string;
  readonly deviceId: string;
  readonly source: AlertSource;
  readonly name: string;
  /** As the manifest had it when it was raised; a name that it does not declare is an error. */
  readonly severity: AlertSeverity;
  readonly displayName: string;
  /** What the device said beside it in `alert_details`. */
  readonly details?: string;
  /** It was raised for longer than the grace period of the manifest. */
  readonly isLasting: boolean;
  /** 1, and one more for each time that it came back within a moment. */
  readonly timesRaised: number;
  readonly raisedAtMs: number;
  /** Absent: it is raised. */
  readonly clearedAtMs?: number;
  readonly acknowledgedAtMs?: number;
  /** Name of the user, token or rule. */
  readonly acknowledgedBy?: string;
}

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
  fromMs?: number | undefined;
  /** Those that were raised before. */
  beforeMs?: number | undefined;
}
