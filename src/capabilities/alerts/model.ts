/** Alerts of the site: what was raised, since when, until when, and who has seen it. */
import { type Role, roleIncludes } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Present } from '../../platform/sqlite/index.ts';
import type { alert } from './tables.ts';

/** Name of the alert that the gateway raises for a device that stays away. */
export const OFFLINE = 'offline';
/** And for one that is connected and sends nothing any more. */
export const SILENT = 'silent';

/** One alert; what is NULL in its row is absent. */
export type Alert = Readonly<Present<typeof alert.$inferSelect>>;
/** How grave an alert is, as manifests name it. */
export type AlertSeverity = Alert['severity'];
export type AlertSource = Alert['source'];

/** What became of an alert. */
export interface AlertChange {
  /** LASTING: it is still raised after its grace period; one without such a period is so at once. */
  readonly kind: 'RAISED' | 'LASTING' | 'CLEARED' | 'ACKNOWLEDGED';
  readonly alert: Alert;
  /** Roles from this one on know it already: it is raised for the others only, who may see it since now. */
  readonly knownTo?: Role;
}

/** Assumed of an alert of which it is not known who may see it. */
export const UNKNOWN_READ_ROLE = 'INSTALLER';

/** Whether the role reaches one of the attributes that report it. */
export const maySee = ({ readRole = UNKNOWN_READ_ROLE }: Pick<Alert, 'readRole'>, role: Role): boolean =>
  roleIncludes(role, readRole);

/** Whether everybody who may read the attribute that reports it may see the alert. */
export const isShown = (
  { readRole }: Pick<Alert, 'readRole'>,
  reported: { readRole: Role } | undefined,
): boolean => readRole !== undefined && reported !== undefined && roleIncludes(reported.readRole, readRole);

/** Whether somebody of this role is to hear of the change. */
export const isNewsFor = ({ alert, knownTo }: AlertChange, role: Role): boolean =>
  maySee(alert, role) && !(knownTo && roleIncludes(role, knownTo));

/** An absent filter does not restrict. */
export interface AlertFilter {
  /** Only what may be seen with it. */
  role?: Role | undefined;
  isActive?: boolean | undefined;
  isAcknowledged?: boolean | undefined;
  deviceIds?: readonly string[] | undefined;
  severities?: readonly AlertSeverity[] | undefined;
  /** Those that were still raised then. */
  fromMs?: EpochMs | undefined;
  /** Those that were raised before. */
  beforeMs?: EpochMs | undefined;
}

/** What is to change of a device, before it is stored. */
export type Turn = Readonly<{ name: string; source: AlertSource; atMs: EpochMs }> &
  Readonly<{ kind: 'CLEARED' } | RaisingTurn>;

export interface RaisingTurn {
  /** SHOWN: it is raised, and more people may see it. */
  kind: 'RAISED' | 'SHOWN';
  readRole: Role;
}
