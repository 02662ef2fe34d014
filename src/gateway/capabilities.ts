/** The capabilities, built in the order in which they stand on each other. */
import { Appliance, createBackups } from '../capabilities/appliance/index.ts';
import { Audit } from '../capabilities/audit/index.ts';
import { Auth } from '../capabilities/auth/index.ts';
import { createBlueprints } from '../capabilities/blueprints/index.ts';
import { createCommands } from '../capabilities/commands/index.ts';
import { createConnectivity } from '../capabilities/connectivity/index.ts';
import {
  connectConfiguration,
  createDeviceConfiguration,
} from '../capabilities/device-configuration/index.ts';
import { createDeviceLogs } from '../capabilities/device-logs/index.ts';
import { DeviceService } from '../capabilities/devices/index.ts';
import { Energy } from '../capabilities/energy/index.ts';
import { createModules } from '../capabilities/modules/index.ts';
import { SerialPorts } from '../capabilities/serial-ports/index.ts';
import { serialLineProblem } from '../platform/host/index.ts';
import { portsOfOption } from './serial-port-option.ts';
import { createProvisioning } from '../capabilities/provisioning/index.ts';
import { createRules } from '../capabilities/rules/index.ts';
import { createSite } from '../capabilities/site/index.ts';
import {
  createTelemetry,
  createThreadedHistory,
  historyOwner,
  retentionPolicy,
} from '../capabilities/telemetry/index.ts';
import { LIMITS } from '../lib/limits.ts';
import { packagePath } from '../platform/files/index.ts';
import type { MqttBroker } from '../platform/mqtt/index.ts';
import { programEntry } from '../platform/processes/index.ts';
import { lastRecovery, quarantinedSince } from '../platform/sqlite/index.ts';
import { auditedCommands } from './audit-trail.ts';
import type { Ground, StartedHook } from './ground.ts';

/** What exists only once the servers listen. */
export interface Listening {
  httpPort: number;
  mqttPort: number | undefined;
  mqttsPort: number | undefined;
  broker: MqttBroker | undefined;
  /** Unasked ends of child programs since the start. */
  restarts: number;
  /** Child programs that should run and do not. */
  missingPrograms: () => string[];
}

export type Capabilities = Awaited<ReturnType<typeof buildCapabilities>>;

/** Builds and starts them all; they serve once the servers are there. */
export async function buildCapabilities(ground: Ground, listening: Listening, started: StartedHook) {
  const records = buildRecords(ground, listening, started);
  ground.history.open(historyOwner(records.site.get().id));
  const flows = buildFlows(ground, records, started);
  await flows.telemetry.start();
  await flows.commands.start();
  flows.deviceLogs.start();
  const { options, metrics, state: database, history, historyCommits } = ground;
  const { clock, log, version, config } = options;
  const rules = createRules({
    clock,
    log,
    metrics,
    database,
    history,
    historyCommits,
    logSizeMaxBytes: () => ground.historyRoom.budget.ruleLogMaxBytes,
    onLogsRemovedEarly: (count) => ground.historyRoom.noteRemoved(count),
  });
  started('rules', () => rules.stop());
  const serialPorts = new SerialPorts({
    database,
    log: log.child({ component: 'serial-ports' }),
    fixed: portsOfOption(config.serialPorts),
    probe: serialLineProblem,
  });
  const modules = createModules({ clock, log, database, ...records, ...flows });
  started('modules', () => modules.stop());
  records.blueprints.start();
  started('blueprints', () => records.blueprints.stop());
  return {
    ...records,
    ...flows,
    rules,
    modules,
    serialPorts,
    energy: new Energy({ clock, database, ...records, ...flows }),
    appliance: buildAppliance(ground, listening, records, flows),
    backups: createBackups({ clock, version, database, dataDir: config.dataDir, site: records.site }),
  };
}

type Records = ReturnType<typeof buildRecords>;

/** Site, tokens, blueprints, devices: what is there, and who may reach it. */
function buildRecords(
  { options, metrics, host, state, stateUpkeep, stateCommits, tls }: Ground,
  listening: Listening,
  started: StartedHook,
) {
  const { config, clock, log } = options;
  const base = { clock, log, metrics, database: state };
  const { hostname } = host.facts();
  const site = createSite({
    ...base,
    defaultName: config.siteName ?? hostname,
    defaultTimezone: config.siteTimezone,
  });
  const auth = new Auth({ ...base, dataDir: config.dataDir });
  auth.start();
  started('auth', () => auth.stop());
  const audit = new Audit({ ...base, commits: stateCommits, room: stateUpkeep });
  audit.start();
  started('audit', () => audit.stop());
  const blueprints = createBlueprints({ ...base, checks: config.blueprintChecks, version: options.version });
  blueprints.ensureBuiltIn();
  const devices = new DeviceService({ ...base, commits: stateCommits, blueprints });
  const provisioning = createProvisioning({
    ...base,
    devices,
    site,
    gatewayName: hostname,
    addresses: {
      publicHost: config.publicHost,
      httpPort: () => listening.httpPort,
      mqttPort: () => listening.mqttPort,
      mqttsPort: () => listening.mqttsPort,
    },
    certificates: tls,
  });
  const connectivity = createConnectivity({ ...base, devices, provisioning, durable: () => state.durable() });
  started('connectivity', () => connectivity.stop());
  connectivity.handle('properties', (message) => devices.takeProperties(message));
  const deviceConfiguration = createDeviceConfiguration({ ...base, devices });
  devices.setBeforeHandover((handed, role) => {
    for (const device of handed) deviceConfiguration.dropSecretsAbove(role, device);
  });
  started(
    'device-configuration',
    connectConfiguration({ configuration: deviceConfiguration, connectivity, devices, log: base.log }),
  );
  return { site, auth, audit, blueprints, devices, provisioning, connectivity, deviceConfiguration };
}

type Flows = ReturnType<typeof buildFlows>;

/** Commands, logs, telemetry: what flows between devices and people. */
function buildFlows(ground: Ground, { audit, devices, connectivity, site }: Records, started: StartedHook) {
  const { options, metrics, state, history, journalFolder, stateCommits, historyCommits } = ground;
  const { historyRoom: room } = ground;
  const { config, clock, log } = options;
  const base = { clock, log, metrics, devices, connectivity };
  const commands = auditedCommands(
    createCommands({
      ...base,
      database: state,
      commits: stateCommits,
      room: ground.stateUpkeep,
      timeoutMs: config.commandTimeoutS * 1_000,
    }),
    audit,
  );
  started('commands', () => commands.stop());
  const deviceLogs = createDeviceLogs({
    ...base,
    history,
    commits: historyCommits,
    sizeMaxBytes: () => room.budget.deviceLogMaxBytes,
  });
  started('device logs', () => deviceLogs.stop());
  const telemetry = createTelemetry({
    ...base,
    history: createThreadedHistory({
      clock,
      log,
      metrics,
      entry: programEntry('capabilities/telemetry/engine-thread'),
      file: history,
      databasePath: history.path,
      migrationsDir: packagePath('migrations', 'history'),
      journalFolder,
      policy: retentionPolicy(config),
      room: room.telemetry,
      openSamples: config.telemetryOpenSamples,
      limits: LIMITS.telemetry,
    }),
    journalFolder,
    room,
    site: () => site.get(),
  });
  started('telemetry', () => telemetry.stop());
  connectComplaints({ connectivity, devices, telemetry, deviceLogs });
  return { commands, deviceLogs, telemetry };
}

/** The gateway's own device. */
function buildAppliance(
  { options, metrics, host, space, state, history, historyRoom, historyCommits }: Ground,
  listening: Listening,
  { devices, provisioning }: Records,
  { telemetry, deviceLogs }: Flows,
) {
  const { clock, config, log, version } = options;
  const own = provisioning.own.gateway;
  devices.setConnectivity(own.id, 'ONLINE');
  const recovery = lastRecovery(config.dataDir);
  const isStateRecovered =
    recovery !== undefined && clock.wallMs() - recovery.recoveredAtMs < LIMITS.state.recoveryShownMs;
  const quarantined = quarantinedSince(state, clock.wallMs() - LIMITS.state.recoveryShownMs);
  return new Appliance({
    clock,
    log,
    metrics,
    host,
    version,
    status: () => ({
      historyDegraded: telemetry.failure() ?? (history.failure ?? historyCommits.failure)?.message,
      historySetAside: history.setAsideNames(),
      unknownDevices: telemetry.unknownDeviceIds(),
      journalSetAside: telemetry.damagedSegments(),
      historySizeBytes: historyRoom.usedBytes(),
      historyRemovedEarly:
        historyRoom.removedEarly + (telemetry.status()?.removedEarly ?? 0) + deviceLogs.removedEarly,
      historyDaysLeft: telemetry.status()?.forecastDays,
      historyDamagedParts: telemetry.status()?.damaged ?? 0,
      stateSizeBytes: state.sizeBytes(),
      isDiskFull: space.isFull,
      isStateRecovered,
      stateRowsQuarantined: quarantined,
      brokerSessions: listening.broker?.sessionCount() ?? 0,
      devicesOnline: devices.all().filter(({ id }) => devices.connectivity(id) === 'ONLINE').length,
      telemetryValues: telemetry.status()?.valueCount ?? 0,
      restarts: listening.restarts,
      missingPrograms: listening.missingPrograms(),
    }),
    settings: {
      telemetry_sample_days: config.telemetrySampleDays,
      telemetry_minute_days: config.telemetryMinuteDays,
      telemetry_quarter_days: config.telemetryQuarterDays,
      history_max_bytes: config.historyMaxMib * 1_048_576,
    },
    tellTelemetry: (values) => telemetry.appendOwn(own, values),
    tellProperties: (body) => {
      const stored = devices.takeProperties({ device: own, body, receivedAtMs: clock.wallMs() });
      stored?.catch((error: unknown) => log.warn('own properties could not be stored', { error }));
    },
  });
}

/** What devices send wrongly stands in their own logs, where the person who can correct it looks. */
function connectComplaints({
  connectivity,
  devices,
  telemetry,
  deviceLogs,
}: Pick<Records, 'connectivity' | 'devices'> & {
  telemetry: ReturnType<typeof createTelemetry>;
  deviceLogs: ReturnType<typeof createDeviceLogs>;
}): void {
  const owner = 'device logs';
  connectivity.events.on('message_rejected', owner, ({ device, message }) =>
    deviceLogs.append(device, { severity: 'error', message, persist: false }),
  );
  devices.events.on('property_rejected', owner, ({ device, message }) =>
    deviceLogs.append(device, { severity: 'warning', message, persist: false }),
  );
  telemetry.events.on('attribute_rejected', owner, ({ device, attribute, message }) =>
    deviceLogs.append(device, {
      severity: 'warning',
      message: attribute === undefined ? message : `Telemetry "${attribute}": ${message}`,
      persist: false,
    }),
  );
}
