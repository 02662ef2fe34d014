/** The capabilities, built in the order in which they stand on each other. */
import { Alerts } from '../capabilities/alerts/index.ts';
import { Announcements } from '../capabilities/announcements/index.ts';
import { Appliance, problemReport, type ReportOptions } from '../capabilities/appliance/index.ts';
import { Audit } from '../capabilities/audit/index.ts';
import { Auth } from '../capabilities/auth/index.ts';
import { Backups } from '../capabilities/backups/index.ts';
import { Blueprints } from '../capabilities/blueprints/index.ts';
import { Commands } from '../capabilities/commands/index.ts';
import { Connectivity } from '../capabilities/connectivity/index.ts';
import { connectConfiguration, DeviceConfiguration } from '../capabilities/device-configuration/index.ts';
import { DeviceLogs } from '../capabilities/device-logs/index.ts';
import { DeviceService } from '../capabilities/devices/index.ts';
import { Energy } from '../capabilities/energy/index.ts';
import { DeviceLibrary } from '../capabilities/library/index.ts';
import { type Modules, traceToWire } from '../capabilities/modules/index.ts';
import { Documents } from '../capabilities/documents/index.ts';
import { MqttGuests } from '../capabilities/mqtt-guests/index.ts';
import { Outputs } from '../capabilities/outputs/index.ts';
import { Notifications } from '../capabilities/notifications/index.ts';
import { Provisioning } from '../capabilities/provisioning/index.ts';
import { Rules } from '../capabilities/rules/index.ts';
import { createSite } from '../capabilities/site/index.ts';
import { Targets } from '../capabilities/targets/index.ts';
import {
  historyOwner,
  retentionPolicy,
  Telemetry,
  ThreadedHistory,
} from '../capabilities/telemetry/index.ts';
import { Strategies } from '../capabilities/strategies/index.ts';
import { Updates } from '../capabilities/updates/index.ts';
import { LIMITS } from '../lib/limits.ts';
import { restoreFaultSince } from '../platform/backup/index.ts';
import { nextTurn } from '../platform/clock/index.ts';
import { installedVersion, packagePath, secretKeysPath } from '../platform/files/index.ts';
import type { MqttBroker } from '../platform/mqtt/index.ts';
import { UpdateFolder, updateKeyFiles } from '../platform/packages/index.ts';
import { programEntry } from '../platform/processes/index.ts';
import { lastRecovery, recentLosses, textOfRecovery } from '../platform/sqlite/index.ts';
import { commandRecorder } from './audit-trail.ts';
import { buildField } from './field.ts';
import { provisioningFault } from './first-provisioning.ts';
import { folderStatus, knownCopies } from './folder-status.ts';
import { type Infrastructure, keepRowStamps, type StartedHook } from './infrastructure.ts';
import { noteMissingHistory } from './missing-history.ts';
import { ShortenedHistory } from './shortened-history.ts';
import { targetRecordSources, targetsStatus } from './targets.ts';

/** Facts that are known only once the servers listen. */
export interface Listening {
  httpPort: number;
  httpsPort: number | undefined;
  mqttPort: number | undefined;
  mqttsPort: number | undefined;
  broker: MqttBroker | undefined;
  /** Unasked ends of child programs since the start. */
  restarts: number;
  /** Child programs that should run and do not. */
  missingPrograms: () => string[];
}

export type Capabilities = Awaited<ReturnType<typeof buildCapabilities>>;

/** Builds and starts all capabilities; they serve once the servers exist. */
export async function buildCapabilities(
  infrastructure: Infrastructure,
  listening: Listening,
  started: StartedHook,
) {
  const holders = keepRowStamps(infrastructure, started);
  const records = buildRecords(infrastructure, listening, started);
  const { id: siteId } = records.site.get();
  noteMissingHistory(infrastructure, records);
  infrastructure.history.open(historyOwner(siteId));
  const flows = buildFlows(infrastructure, records, started);
  await flows.telemetry.start();
  await flows.commands.start();
  flows.deviceLogs.start();
  const { options, metrics, state: database } = infrastructure;
  const { clock, log } = options;
  const base = { clock, log, metrics, database };
  const announcements = startAnnouncements(infrastructure, records, started);
  const outputs = new Outputs({ ...base, ...records, ...flows });
  started('outputs', () => outputs.stop());
  const { rules, strategies } = buildRules(infrastructure, records, started);
  const field = buildField(infrastructure, { ...records, ...flows }, started);
  const alerts = new Alerts({ ...base, room: infrastructure.stateUpkeep, ...records, ...flows });
  const notifications = startNotifications(infrastructure, { ...records, alerts }, started);
  alerts.start();
  started('alerts', () => alerts.stop());
  const targets = startTargets(infrastructure, { ...records, ...flows, alerts, rules }, started);
  holders.push(records.devices, notifications, targets);
  records.blueprints.start();
  started('blueprints', () => records.blueprints.stop());
  const backups = buildBackups(infrastructure, records);
  backups.start();
  const updates = buildUpdates(infrastructure);
  registerVersions(infrastructure);
  const observed = { ...flows, targets, updates };
  const appliance = buildAppliance(infrastructure, listening, records, observed, backups);
  started('backups', () => backups.stop());
  const secrets = (): string[] => [...backups.secrets(), ...targets.secrets()];
  return {
    ...records,
    ...flows,
    announcements,
    outputs,
    rules,
    strategies,
    ...field,
    alerts,
    notifications,
    targets,
    energy: buildEnergy({ ...base, ...records, ...flows, plans: () => outputs.plans() }),
    appliance,
    backups,
    updates,
    report: () => problemReport(reportParts(infrastructure, appliance, secrets, { ...records, ...field })),
  };
}

/** Rules, and the library that makes them. */
function buildRules(infrastructure: Infrastructure, { devices }: Records, started: StartedHook) {
  const { options, metrics, state: database, history, historyCommits, historyRoom } = infrastructure;
  const { clock, log } = options;
  const rules = new Rules({
    clock,
    log,
    metrics,
    database,
    history,
    historyCommits,
    logSizeMaxBytes: () => historyRoom.budget.ruleLogMaxBytes,
    onLogsRemovedEarly: (count) => historyRoom.noteRemoved(count),
  });
  started('rules', () => rules.stop());
  return { rules, strategies: new Strategies({ devices, rules }) };
}

/** Only claim code, passwords of backups and secrets of targets are stored as they were typed. */
function reportParts(
  { options, metrics, host }: Infrastructure,
  appliance: Appliance,
  secrets: () => string[],
  { auth, modules }: Pick<Records, 'auth'> & { modules: Modules },
): ReportOptions {
  const { clock, config, version, recentLog } = options;
  return {
    appliance,
    clock,
    host,
    metrics,
    version,
    options: config,
    copies: () => knownCopies(config.dataDir),
    traces: () =>
      modules.traces.all().map(({ device, trace }) => ({ device: device.slug, ...traceToWire(trace) })),
    recentLog: recentLog ?? (() => []),
    secrets: () => [...secrets(), auth.claim.code() ?? ''],
  };
}

/** After an upgrade that failed another version runs than is installed, and the package manager calls it a success. */
function registerVersions({ options, metrics }: Infrastructure): void {
  metrics
    .gauge('version', 'The version that runs; always 1.', ['version'])
    .set({ version: options.version }, 1);
  metrics.gauge(
    'installed_version',
    'The version that the package manager has installed; always 1.',
    ['version'],
    (gauge) => {
      gauge.reset();
      gauge.set({ version: installedVersion() ?? options.version }, 1);
    },
  );
}

function buildBackups(infrastructure: Infrastructure, { site, audit }: Records): Backups {
  const { options, metrics, sealer, state: database, history, historyRoom, space } = infrastructure;
  return new Backups({
    ...options,
    rehearsal: infrastructure.rehearsal,
    metrics,
    database,
    site,
    dataDir: options.config.dataDir,
    sealer,
    secretKeysPath: secretKeysPath(options.config),
    history: { path: history.path, usedBytes: () => historyRoom.usedBytes() },
    onHistoryDamage: (damage) => history.report(damage),
    lastTakenMs: () => audit.lastDoneMs('create_backup'),
    freeBytes: () => space.room.freeBytes,
    requestRestart: (reason) => options.requestRestart?.(reason),
    limits: options.backupLimits ?? LIMITS.backup,
  });
}

function buildUpdates({ options, space }: Infrastructure): Updates {
  return new Updates({
    ...options,
    folder: new UpdateFolder(options.config.dataDir),
    installed: { version: options.version, keyFiles: updateKeyFiles() },
    freeBytes: () => space.room.freeBytes,
  });
}

/** Needs those that take what devices say. */
function startAnnouncements(
  { options: { clock, log }, state: database }: Infrastructure,
  records: Records,
  started: StartedHook,
): Announcements {
  const own = log.child({ component: 'announcements' });
  const announcements = new Announcements({ ...records, clock, log: own, database });
  announcements.start();
  started('announcements', () => announcements.stop());
  return announcements;
}

function startNotifications(
  { options: { clock, log }, metrics, sealer, state: database, rehearsal }: Infrastructure,
  parts: Records & { alerts: Alerts },
  started: StartedHook,
): Notifications {
  const isRehearsal = rehearsal !== undefined;
  const notifications = new Notifications({ ...parts, clock, log, metrics, database, sealer, isRehearsal });
  notifications.start();
  started('notifications', () => notifications.stop());
  return notifications;
}

/** Targets start late, when the devices and their telemetry are known. */
function startTargets(
  { options: { clock, log, config }, metrics, sealer, state, stateCommits, rehearsal }: Infrastructure,
  parts: Records & Flows & { alerts: Alerts; rules: Rules },
  started: StartedHook,
): Targets {
  const targets = new Targets({
    database: state,
    clock,
    log: log.child({ component: 'targets' }),
    metrics,
    commits: stateCommits,
    telemetry: parts.telemetry,
    commands: parts.commands,
    audit: parts.audit,
    sources: targetRecordSources({ clock, ...parts }),
    devices: parts.devices,
    site: () => parts.site.get(),
    dataDir: config.dataDir,
    sealer,
    isRehearsal: rehearsal !== undefined,
    limits: LIMITS.targets,
    pause: nextTurn,
  });
  targets.start();
  started('targets', () => targets.stop());
  return targets;
}

type Records = ReturnType<typeof buildRecords>;

/** Site, tokens, blueprints, devices: what exists, and who may access it. */
function buildRecords(
  { options, metrics, host, sealer, state, stateUpkeep, stateCommits, tls, rehearsal }: Infrastructure,
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
  const blueprints = new Blueprints({ ...base, checks: config.blueprintChecks, version: options.version });
  blueprints.ensureBuiltIn();
  const devices = new DeviceService({ ...base, commits: stateCommits, blueprints });
  const documents = new Documents({ ...base, dataDir: config.dataDir, devices });
  const addresses = {
    publicHost: config.publicHost,
    httpPort: () => listening.httpPort,
    mqttPort: () => listening.mqttPort,
    mqttsPort: () => listening.mqttsPort,
  };
  const gatewayName = hostname;
  const library = new DeviceLibrary({ ...base, blueprints, devices });
  started('library', () => library.stop());
  const provisioning = new Provisioning({ ...base, devices, gatewayName, addresses, certificates: tls });
  const mqttGuests = new MqttGuests({ ...base, log: log.child({ component: 'mqtt-guests' }) });
  const parts = { ...base, devices, provisioning, mqttGuests };
  const connectivity = new Connectivity({
    ...parts,
    durable: () => state.durable(),
    isRehearsal: rehearsal !== undefined,
  });
  started('connectivity', () => connectivity.stop());
  connectivity.handle('properties', (message) => devices.takeProperties(message));
  const deviceConfiguration = new DeviceConfiguration({ ...base, sealer, devices });
  devices.beforeHandover = (handed, role) => {
    for (const device of handed) deviceConfiguration.dropSecretsAbove(role, device);
  };
  started(
    'device-configuration',
    connectConfiguration({ configuration: deviceConfiguration, connectivity, devices, log: base.log }),
  );
  return {
    site,
    auth,
    audit,
    blueprints,
    devices,
    documents,
    library,
    provisioning,
    addresses,
    mqttGuests,
    connectivity,
    deviceConfiguration,
  };
}

type Flows = ReturnType<typeof buildFlows>;

/** Commands, logs, telemetry: the data that flows between devices and people. */
function buildFlows(
  infrastructure: Infrastructure,
  { audit, devices, connectivity, site }: Records,
  started: StartedHook,
) {
  const { options, metrics, state, history, journalFolder, stateCommits, historyCommits } = infrastructure;
  const { historyRoom: room, isTornEndDamage } = infrastructure;
  const { config, clock, log } = options;
  const base = { clock, log, metrics, devices, connectivity };
  const commands = new Commands({
    ...base,
    database: state,
    commits: stateCommits,
    room: infrastructure.stateUpkeep,
    timeoutMs: config.commandTimeoutS * 1_000,
    isRehearsal: infrastructure.rehearsal !== undefined,
    onRequested: commandRecorder(audit),
  });
  started('commands', () => commands.stop());
  const deviceLogs = new DeviceLogs({
    ...base,
    history,
    commits: historyCommits,
    sizeMaxBytes: () => room.budget.deviceLogMaxBytes,
  });
  started('device logs', () => deviceLogs.stop());
  const telemetry = new Telemetry({
    ...base,
    history: new ThreadedHistory({
      clock,
      log,
      metrics,
      entry: programEntry('telemetry-store/engine/thread'),
      file: history,
      databasePath: history.path,
      migrationsDir: packagePath('migrations', 'history'),
      journalFolder,
      isTornEndDamage,
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
  connectReports({ connectivity, devices, telemetry, deviceLogs });
  return { commands, deviceLogs, telemetry };
}

/** The gateway's own device. */
function buildAppliance(
  infrastructure: Infrastructure,
  listening: Listening,
  { devices, provisioning }: Records,
  { telemetry, deviceLogs, targets, updates }: Flows & { targets: Targets; updates: Updates },
  backups: Backups,
) {
  const { options, metrics, host, space, state, history, historyRoom, historyCommits } = infrastructure;
  const folder = folderStatus(infrastructure);
  const { clock, config, log, version } = options;
  const own = provisioning.own.gateway;
  devices.setConnectivity(own.id, 'ONLINE');
  const shownFromMs = clock.wallMs() - LIMITS.state.recoveryShownMs;
  const losses = recentLosses({ dataDir: config.dataDir, clock, log });
  const recoveryText = (): string | undefined => {
    const recovery = lastRecovery(config.dataDir, log);
    return recovery && recovery.recoveredAtMs > shownFromMs ? textOfRecovery(recovery) : undefined;
  };
  const shortened = new ShortenedHistory({ dataDir: config.dataDir, clock, log, limits: LIMITS.history });
  return new Appliance({
    clock,
    log,
    metrics,
    host,
    version,
    httpsPort: () => listening.httpsPort,
    status: () => ({
      historyDegraded: telemetry.failure() ?? (history.failure ?? historyCommits.failure)?.message,
      ...folder(),
      unknownDevices: telemetry.unknownDeviceIds(),
      journalSetAside: telemetry.damagedSegments(),
      isHistoryShortened: shortened.isRecent([historyRoom, telemetry.status(), deviceLogs]),
      historyDaysLeft: telemetry.status()?.forecastDays,
      historyDamagedParts: telemetry.status()?.damaged ?? 0,
      isDiskFull: space.isFull,
      restoreFault: restoreFaultSince(shownFromMs, { dataDir: config.dataDir, log }),
      stateRecovery: recoveryText(),
      changesLost: losses(),
      stateDegraded: state.failure?.message,
      stateCopyFault: infrastructure.stateUpkeep.copyFault,
      isRehearsal: infrastructure.rehearsal !== undefined,
      isTlsOff: (config.https || config.mqtts) && infrastructure.tls === undefined,
      certificateProblem: infrastructure.tls?.operatorProblem(),
      brokerSessions: listening.broker?.sessionCount() ?? 0,
      devicesOnline: devices.all().filter(({ id }) => devices.connectivity(id) === 'ONLINE').length,
      telemetryValues: telemetry.status()?.valueCount ?? 0,
      restarts: listening.restarts,
      ...targetsStatus(targets, clock.wallMs()),
      siteFileFault: provisioningFault(config),
      updateFailure: updates.trialFailure(),
      missingPrograms: listening.missingPrograms(),
      backup: state.readOr({ isOverdue: false }, () => backups.standing()),
    }),
    settings: {
      telemetry_sample_days: config.telemetrySampleDays,
      telemetry_minute_days: config.telemetryMinuteDays,
      telemetry_quarter_days: config.telemetryQuarterDays,
      history_max_bytes: config.historyMaxMib * 1_048_576,
    },
    sendTelemetry: (values) => telemetry.appendOwn(own, values),
    sendProperties: (body) => {
      const stored = devices.takeProperties({ device: own, body, receivedAtMs: clock.wallMs() });
      stored?.catch((error: unknown) => log.warn('own properties could not be stored', { error }));
    },
  });
}

function buildEnergy(parts: ConstructorParameters<typeof Energy>[0] & Pick<Flows, 'deviceLogs'>): Energy {
  const energy = new Energy(parts);
  energy.events.on('implausible_value', 'device logs', ({ device, message }) =>
    parts.deviceLogs.append(device, { severity: 'warning', message, persist: true }),
  );
  return energy;
}

/** Faulty data of a device is reported in its own log, where the person who can correct it looks. */
function connectReports({
  connectivity,
  devices,
  telemetry,
  deviceLogs,
}: Pick<Records, 'connectivity' | 'devices'> & {
  telemetry: Telemetry;
  deviceLogs: DeviceLogs;
}): void {
  const owner = 'device logs';
  connectivity.events.on('message_rejected', owner, ({ device, message, severity }) =>
    deviceLogs.append(device, { severity, message, persist: false }),
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
