/**
 * Entries of the audit trail besides requests over HTTP: commands of rules, device scripts and targets, and attempts that the
 * broker refused.
 */
import type { Audit, AuditOrigin } from '../capabilities/audit/index.ts';
import type { Auth } from '../capabilities/auth/index.ts';
import type { CommandListener } from '../capabilities/commands/index.ts';
import type { Devices } from '../capabilities/devices/index.ts';
import type { Rules } from '../capabilities/rules/index.ts';
import { addressKey } from '../lib/address.ts';
import { ReportThrottle } from '../lib/report-throttle.ts';
import { GatewayError } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Clock } from '../platform/clock/index.ts';
import { statusOf } from '../platform/http/index.ts';
import type { MqttRefusal } from '../platform/mqtt/index.ts';

const UNAUTHENTICATED = 401;
const DENIED = 403;
const BESIDE_HTTP: ReadonlySet<AuditOrigin['kind']> = new Set(['rule', 'device', 'target']);
const UNKNOWN: AuditOrigin = { kind: 'anonymous', id: 'anonymous', name: 'anonymous' };

/** Records commands that did not come over HTTP; requests over HTTP are recorded there. */
export function commandRecorder(audit: Pick<Audit, 'recordAction'>): CommandListener {
  return ({ device, name, origin }, { executionId, error }) => {
    if (!BESIDE_HTTP.has(origin.kind)) return;
    const refusal = error instanceof GatewayError ? statusOf(error.kind) : 500;
    audit.recordAction({
      origin,
      operation: 'execute_command',
      target: {
        device_id: device.id,
        device_name: device.name,
        command: name,
        ...(executionId !== undefined && { execution_id: executionId }),
      },
      status: executionId === undefined ? refusal : 200,
    });
  };
}

/**
 * Adds the names that people know to the ids of an entry: the present ones, because things may be deleted later. Names that
 * the operation itself noted come first.
 */
export function namedTargets(parts: {
  devices: Pick<Devices, 'find'>;
  rules: Pick<Rules, 'all'>;
  auth: Auth;
}): (target: Record<string, string>) => Record<string, string> {
  const nameOf: Record<string, [field: string, of: (id: string) => string | undefined]> = {
    device_id: ['device_name', (id) => parts.devices.find(id)?.name],
    rule_id: [
      'rule_slug',
      (idOrSlug) => parts.rules.all().find(({ id, slug }) => id === idOrSlug || slug === idOrSlug)?.slug,
    ],
    user_id: ['user_name', (id) => parts.auth.users.get(id)?.name],
    token_id: ['token_name', (id) => parts.auth.tokens.get(id)?.name],
  };
  return (target) => {
    const names: Record<string, string> = {};
    for (const [key, id] of Object.entries(target)) {
      const [field, of] = (Object.hasOwn(nameOf, key) ? nameOf[key] : undefined) ?? [];
      const name = of?.(id);
      if (field !== undefined && name !== undefined) names[field] = name;
    }
    return { ...names, ...target };
  };
}

/** Records refusals of clients of the broker, the same one once an hour, because clients try for ever. */
export function refusalRecorder(
  audit: Pick<Audit, 'recordAction'>,
  devices: Pick<Devices, 'atHardware'>,
  clock: Clock,
): (refusal: MqttRefusal) => void {
  const throttle = new ReportThrottle({
    intervalMs: LIMITS.audit.repeatedRefusalMs,
    perOwner: LIMITS.audit.refusalsPerHour,
    owners: LIMITS.audit.refusalSubjects,
  });
  return ({ what, reason, claimed, topic, remoteAddress }) => {
    // Each device and each unknown address is counted individually, so that none hides another.
    const [device] = claimed === undefined ? [] : devices.atHardware(claimed);
    // Anything else may be a password in the wrong place.
    const hardwareId = device && claimed;
    const subject = `${what} ${hardwareId} ${remoteAddress}`;
    if (
      throttle.report(device?.id ?? addressKey(remoteAddress), subject, subject, clock.monotonicMs()) ===
      undefined
    )
      return;
    audit.recordAction({
      origin: device ? { kind: 'device', id: device.id, name: device.name } : UNKNOWN,
      operation: `mqtt_${what}`,
      target: {
        ...(device && { device_id: device.id, device_name: device.name }),
        ...(hardwareId && { hardware_id: hardwareId }),
        ...(topic !== undefined && { topic }),
        ...(reason !== undefined && { reason }),
      },
      status: what === 'login' ? UNAUTHENTICATED : DENIED,
      remoteAddress,
    });
  };
}
