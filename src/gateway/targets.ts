/** Records that targets get besides telemetry, and the status of the targets for the gateway's own device. */
import { type Alerts, alertToWire, maySee } from '../capabilities/alerts/index.ts';
import { type Audit, auditToWire } from '../capabilities/audit/index.ts';
import { type Commands, executionToWire } from '../capabilities/commands/index.ts';
import { type DeviceLogs, deviceLogToWire } from '../capabilities/device-logs/index.ts';
import type { Devices } from '../capabilities/devices/index.ts';
import { logToWire, type Rules } from '../capabilities/rules/index.ts';
import type { RecordSources, Targets } from '../capabilities/targets/index.ts';
import { LIMITS } from '../lib/limits.ts';
import type { EpochMs } from '../lib/time.ts';
import type { Clock } from '../platform/clock/index.ts';

interface Parts {
  clock: Pick<Clock, 'wallMs'>;
  devices: Pick<Devices, 'get' | 'properties'>;
  alerts: Pick<Alerts, 'ofNumber'>;
  audit: Pick<Audit, 'ofNumber'>;
  commands: Pick<Commands, 'find' | 'maySee'>;
  deviceLogs: Pick<DeviceLogs, 'after' | 'newestNumber'>;
  rules: Pick<Rules, 'logs'>;
}

/** Role of the people who make targets: targets get what it may see. */
const ROLE = 'OWNER';

/** As the interface shows them to an owner. */
export function targetRecordSources(parts: Parts): RecordSources {
  const { clock, devices, deviceLogs, rules } = parts;
  return {
    noted: {
      ...notedRows(parts),
      PROPERTIES: (deviceId) => {
        const device = devices.get(deviceId);
        if (!device) return undefined;
        const body = { device_id: deviceId, properties: devices.properties(device, ROLE) };
        // The present values are sent.
        return { deviceId, atMs: clock.wallMs(), tags: {}, body };
      },
    },
    numbered: {
      DEVICE_LOGS: {
        newestNumber: () => deviceLogs.newestNumber(),
        after: (number, limit) =>
          deviceLogs.after(number, limit).map((entry) => ({
            number: entry.number,
            deviceId: entry.deviceId,
            atMs: entry.receivedAtMs,
            tags: { severity: entry.severity },
            body: deviceLogToWire(entry, true),
          })),
      },
      RULE_LOGS: {
        newestNumber: () => rules.logs.newestNumber(),
        after: (number, limit) =>
          rules.logs.after(number, limit).map((entry) => ({
            number: entry.number,
            atMs: entry.receivedAtMs,
            tags: { severity: entry.severity, rule_id: entry.ruleId },
            body: logToWire(entry),
          })),
      },
    },
  };
}

function notedRows({ devices, alerts, audit, commands }: Parts): Omit<RecordSources['noted'], 'PROPERTIES'> {
  return {
    ALERTS: (number) => {
      const alert = alerts.ofNumber(Number(number));
      if (!alert) return undefined;
      if (!maySee(alert, ROLE)) return null;
      const { deviceId, name, severity, raisedAtMs, clearedAtMs } = alert;
      const body = alertToWire(alert, devices.get(deviceId), true);
      return { deviceId, atMs: clearedAtMs ?? raisedAtMs, tags: { name, severity }, body };
    },
    AUDIT: (number) => {
      const entry = audit.ofNumber(Number(number));
      return entry && { atMs: entry.atMs, tags: { operation: entry.operation }, body: auditToWire(entry) };
    },
    EXECUTIONS: (id) => {
      const execution = commands.find(id);
      const device = execution && devices.get(execution.deviceId);
      if (!device) return undefined;
      if (!commands.maySee(device, execution, ROLE)) return null;
      const { createdAtMs, request, response } = execution;
      return {
        deviceId: device.id,
        atMs: response?.receivedAtMs ?? createdAtMs,
        tags: { command: request.manifestName },
        body: executionToWire(execution),
      };
    },
  };
}

/** Status of the targets, as the gateway's own device reports it. */
export function targetsStatus(targets: Pick<Targets, 'list'>, nowMs: EpochMs) {
  const all = targets.list();
  return {
    targetsRefusing: all.flatMap(({ record: { name }, status: { lastRefusal } }) =>
      lastRefusal && nowMs - lastRefusal.atMs < LIMITS.targets.refusalShownMs
        ? [{ name, reason: lastRefusal.message }]
        : [],
    ),
    targetsFailing: all
      .filter(({ status }) => status.state === 'FAILING')
      .map(({ record: { name }, status }) => ({ name, reason: status.lastError?.message ?? '' })),
    commandsFailing: all.flatMap(({ record: { name }, status: { commands } }) =>
      commands && !commands.isConnected && commands.lastError
        ? [{ name, reason: commands.lastError.message }]
        : [],
    ),
    targetsLagS: Math.max(0, ...all.map(({ status }) => status.lagS)),
    targetsLagSamples: all.reduce((sum, { status }) => sum + status.lagSamples, 0),
    targetsLagRecords: all.reduce((sum, { status }) => sum + status.lagRecords, 0),
  };
}
