/** Alerts of the site: what was raised, since when, until when, and who has seen it. */
import { type DurationMs, type EpochMs, type EpochS, parseDurationMs } from '../../lib/time.ts';
import type { Limits } from '../../lib/limits.ts';
import { type Role, roleIncludes } from '../../lib/role.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { Present } from '../../platform/sqlite/index.ts';
import type { CompiledAlert, CompiledManifest } from '../blueprints/index.ts';
import type { Latest } from '../telemetry/index.ts';
import type { alert } from './tables.ts';

/** Name of the alert that the gateway raises for a device that stays away. */
export const OFFLINE = 'offline';
/** Name of the alert that the gateway raises for a device that is connected and sends no more data. */
export const SILENT = 'silent';

/** One alert; what is NULL in its row is absent. */
export type Alert = Readonly<Present<typeof alert.$inferSelect>>;
/** How grave an alert is, as manifests name it. */
export type AlertSeverity = Alert['severity'];
export type AlertSource = Alert['source'];

/** A change of an alert. */
export interface AlertChange {
  /** LASTING: still raised after its grace period. An alert without a grace period is lasting at once. */
  readonly kind: 'RAISED' | 'LASTING' | 'CLEARED' | 'ACKNOWLEDGED';
  readonly alert: Alert;
  /** Roles from this one upward know the alert already: it is news only for lower roles, which may see it since now. */
  readonly knownTo?: Role;
}

/** Assumed when the role that may see an alert is not known. */
export const UNKNOWN_READ_ROLE = 'INSTALLER';

/** Whether the role reaches one of the attributes that report it. */
export const maySee = ({ readRole = UNKNOWN_READ_ROLE }: Pick<Alert, 'readRole'>, role: Role): boolean =>
  roleIncludes(role, readRole);

/** Whether everybody who may read the attribute that reports it may see the alert. */
export const isShown = (
  { readRole }: Pick<Alert, 'readRole'>,
  reported: { readRole: Role } | undefined,
): boolean => readRole !== undefined && reported !== undefined && roleIncludes(reported.readRole, readRole);

/** Whether callers with this role are informed of the change. */
export const isNewsFor = ({ alert, knownTo }: AlertChange, role: Role): boolean =>
  maySee(alert, role) && !(knownTo && roleIncludes(role, knownTo));

/** An absent filter does not restrict. */
export interface AlertFilter {
  /** Only alerts that this role may see. */
  role?: Role | undefined;
  isActive?: boolean | undefined;
  isAcknowledged?: boolean | undefined;
  deviceIds?: readonly string[] | undefined;
  severities?: readonly AlertSeverity[] | undefined;
  /** Alerts that were still raised at this moment. */
  fromMs?: EpochMs | undefined;
  /** Alerts that were raised before this moment. */
  beforeMs?: EpochMs | undefined;
}

/** A change of a device's alerts that is not stored yet. */
export type Turn = Readonly<{ name: string; source: AlertSource; atMs: EpochMs }> &
  Readonly<{ kind: 'CLEARED' } | RaisingTurn>;

export interface RaisingTurn {
  /** SHOWN: it is raised, and more people may see it. */
  kind: 'RAISED' | 'SHOWN';
  readRole: Role;
}

// Description of an alert, from the manifest and the device itself.

type Description = Pick<Alert, 'severity' | 'displayName'>;

const OWN: Readonly<Record<string, Description>> = {
  [OFFLINE]: { severity: 'warning', displayName: 'Offline' },
  [SILENT]: { severity: 'warning', displayName: 'No longer sends data' },
};

/** A name that the manifest does not declare counts as an error (docs/interface/mqtt-devices.md#telemetry). */
function describeAlert(manifest: CompiledManifest, source: AlertSource, name: string): Description {
  const own = source === 'GATEWAY' ? OWN[name] : undefined;
  if (own) return own;
  const declared = declarationOf(manifest, name);
  return { severity: declared?.severity ?? 'error', displayName: declared?.display_name ?? name };
}

/** The content of an alert that is raised. @param about `latest`: the latest `alert_details` of the device */
export function describeRaised(
  { source, name, atMs, readRole }: Turn & RaisingTurn,
  about: { manifest: CompiledManifest; latest: Latest | undefined; limits: Limits['alerts'] },
): Omit<Alert, 'number' | 'id' | 'deviceId'> {
  const { manifest, latest, limits } = about;
  return {
    source,
    name,
    ...describeAlert(manifest, source, name),
    ...detailsOf(latest, name, atMs / 1_000, limits),
    readRole,
    isLasting: graceMs(manifest, source, name) === 0,
    timesRaised: 1,
    raisedAtMs: Math.round(atMs),
  };
}

/** Grace period before an alert counts; 0 without one. */
export function graceMs(manifest: CompiledManifest, source: AlertSource, name: string): DurationMs {
  const text = source === 'DEVICE' ? declarationOf(manifest, name)?.grace_period : undefined;
  return (text === undefined ? undefined : parseDurationMs(text)) ?? 0;
}

/** The entry of `alert_details` under the alert's name, if it came with the alert. */
function detailsOf(
  latest: Latest | undefined,
  name: string,
  timestampS: EpochS,
  limits: Limits['alerts'],
): { details?: string } {
  if (!latest || latest.timestampS !== timestampS) return {};
  const { value } = latest;
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return {};
  const detail = (value as Record<string, unknown>)[name];
  if (detail === null || detail === undefined) return {};
  const text = typeof detail === 'string' ? detail : JSON.stringify(detail);
  return { details: cutToBytes(text.toWellFormed(), limits.detailsBytes) };
}

function declarationOf({ alerts }: CompiledManifest, name: string): CompiledAlert | undefined {
  return Object.hasOwn(alerts, name) ? alerts[name] : undefined;
}
