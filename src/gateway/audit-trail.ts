/**
 * What stands in the audit trail beside the requests over HTTP: commands of rules and of scripts of devices, and
 * what clients of the broker tried in vain.
 */
import type { Audit, AuditOrigin } from '../capabilities/audit/index.ts';
import type { Commands } from '../capabilities/commands/index.ts';
import type { Devices } from '../capabilities/devices/index.ts';
import { createComplaints } from '../lib/complaints.ts';
import { GatewayError } from '../lib/errors.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Clock } from '../platform/clock/index.ts';
import { statusOf } from '../platform/http/index.ts';
import type { MqttRefusal } from '../platform/mqtt/index.ts';

const UNAUTHENTICATED = 401;
const DENIED = 403;
const UNKNOWN: AuditOrigin = { kind: 'anonymous', id: 'anonymous', name: 'anonymous' };

/** The same commands; those that did not come over HTTP, which records its own, are recorded when they are sent. */
export function auditedCommands(commands: Commands, audit: Pick<Audit, 'recordAction'>): Commands {
  return {
    ...commands,
    execute: async (device, request, caller) => {
      const { origin } = caller;
      if (origin.kind !== 'rule' && origin.kind !== 'device')
        return commands.execute(device, request, caller);
      const record = (status: number, more?: Record<string, string>): void =>
        audit.recordAction({
          origin,
          operation: 'execute_command',
          target: { device_id: device.id, command: request.name, ...more },
          status,
        });
      try {
        const running = await commands.execute(device, request, caller);
        record(200, { execution_id: running.id });
        return running;
      } catch (error) {
        record(error instanceof GatewayError ? statusOf(error.kind) : 500);
        throw error;
      }
    },
  };
}

/** Records what a client of the broker was refused, each attempt of one client once an hour: they try for ever. */
export function refusalRecorder(
  audit: Pick<Audit, 'recordAction'>,
  devices: Pick<Devices, 'atHardware'>,
  clock: Clock,
): (refusal: MqttRefusal) => void {
  const told = createComplaints({
    intervalMs: LIMITS.audit.repeatedRefusalMs,
    perOwner: LIMITS.audit.refusalsPerHour,
  });
  return ({ what, claimed, topic, remoteAddress }) => {
    const [device] = claimed === undefined ? [] : devices.atHardware(claimed);
    // What is no device's may be anything, a password in the wrong place too.
    const hardwareId = device && claimed;
    const subject = `${what} ${hardwareId} ${remoteAddress}`;
    if (told.tell('broker', subject, subject, clock.monotonicMs()) === undefined) return;
    audit.recordAction({
      origin: device ? { kind: 'device', id: device.id, name: device.name } : UNKNOWN,
      operation: `mqtt_${what}`,
      target: { ...(hardwareId && { hardware_id: hardwareId }), ...(topic !== undefined && { topic }) },
      status: what === 'login' ? UNAUTHENTICATED : DENIED,
      remoteAddress,
    });
  };
}
