/** Description of an alert, from the manifest and the device itself. */
import { parseDurationMs } from '../../lib/duration.ts';
import type { Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { DurationMs, EpochS } from '../../lib/time.ts';
import type { CompiledAlert, CompiledManifest } from '../blueprints/index.ts';
import type { Latest } from '../telemetry/index.ts';
import { type Alert, type AlertSource, OFFLINE, type RaisingTurn, SILENT, type Turn } from './model.ts';

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
