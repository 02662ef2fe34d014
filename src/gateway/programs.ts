/** The programs that the gateway starts beside itself and keeps running. */
import { BuiltInModule } from '../capabilities/modules/index.ts';
import type { SerialPortRecord } from '../capabilities/serial-ports/index.ts';
import { configurationToWire } from '../capabilities/provisioning/index.ts';
import {
  createQuestions,
  createRecordedQuestions,
  createRuleSandbox,
  type RuleSandbox,
} from '../capabilities/rules/index.ts';
import { LIMITS } from '../lib/limits.ts';
import { Processes, programEntry, type ProgramRights } from '../platform/processes/index.ts';
import { MODULE_NODE_OPTIONS, MODULE_PROTOCOL } from '../protocol/module.ts';
import type { Capabilities, Listening } from './capabilities.ts';
import type { Ground, StartedHook } from './ground.ts';

/** Starts them; none is waited for, because the gateway lives without each of them. */
export async function startPrograms(
  ground: Ground,
  parts: Capabilities,
  listening: Listening,
  started: StartedHook,
): Promise<void> {
  const { options, metrics } = ground;
  const { config, clock, log } = options;
  const processes = new Processes({ clock, log, metrics });
  listening.missingPrograms = () => processes.missing();
  const owners: { stop: () => Promise<void> | void }[] = [];
  started('programs', async () => {
    // All at the same time: each may take its whole time.
    await Promise.all([...owners.map((owner) => owner.stop()), processes.stop()]);
  });
  const onEnded = (): void => void listening.restarts++;
  if (config.ruleSandbox) owners.push(startRules(ground, processes, parts, onEnded));
  if (config.builtInModule) owners.push(await startModule(ground, processes, parts, onEnded));
}

async function startModule(
  { options }: Ground,
  processes: Processes,
  { provisioning, devices, connectivity, serialPorts }: Capabilities,
  onEnded: () => void,
): Promise<BuiltInModule> {
  const { config, clock } = options;
  const ports = () => settingsOf(serialPorts.list());
  const connection = await provisioning.configureOwnModule(localHost(config.mqttHost));
  const module = new BuiltInModule({
    clock,
    devices,
    connectivity,
    module: () => provisioning.own.module,
    portNames: () => Object.keys(ports()),
    onEnded,
    program: (on) =>
      processes.program({
        name: 'communication-module',
        entry: programEntry('programs/communication-module/main'),
        protocolVersion: MODULE_PROTOCOL.version,
        nodeOptions: MODULE_NODE_OPTIONS,
        rights: () => moduleRights(serialPorts.list().map(({ path }) => path)),
        settings: () => ({
          config: configurationToWire(connection),
          ports: ports(),
          log_level: config.logLevel,
        }),
        onPayload: () => undefined,
        ...on,
      }),
  });
  serialPorts.events.on('serial_ports_changed', 'built-in module', () => module.portsChanged());
  module.start();
  return module;
}

function startRules(
  { options, state, metrics }: Ground,
  processes: Processes,
  parts: Capabilities,
  onEnded: () => void,
): RuleSandbox {
  const { config, clock, log } = options;
  const { rules, site, devices, telemetry, commands } = parts;
  const asked = {
    database: state,
    store: rules.storage,
    clock,
    limits: LIMITS.rules,
    devices,
    telemetry,
    commands,
  };
  const ask = createQuestions(asked);
  const sandbox = createRuleSandbox({
    processes,
    entry: programEntry('programs/rule-sandbox/main'),
    log,
    metrics,
    // Two writers of text for people would be mixed up on one terminal.
    logSettings: { level: config.logLevel, format: 'json' },
    site,
    devices,
    telemetry,
    ask,
    askRecorded: createRecordedQuestions(asked, ask),
    clock,
    appendLog: (ruleId, severity, message) => rules.logs.append(ruleId, severity, message),
    onEnded,
  });
  rules.start(sandbox);
  return sandbox;
}

/** The line of a serial port is set by `stty` of the system: the runtime has no call for it. */
function moduleRights(deviceFiles: string[]): ProgramRights {
  return { network: true, deviceFiles, systemPrograms: deviceFiles.length > 0 };
}

/** An address that a program on the same box reaches, for a listener on all of them too. */
function localHost(host: string): string {
  return host === '0.0.0.0' || host === '::' ? '127.0.0.1' : host;
}

/** As the module reads them: each name with the line behind it, second names too. */
function settingsOf(ports: readonly SerialPortRecord[]): Record<string, object> {
  return Object.fromEntries(
    ports.flatMap(({ name, aliases, path, baudRate, dataBits, parity, stopBits }) =>
      [name, ...aliases].map((known) => [
        known,
        { path, baud_rate: baudRate, data_bits: dataBits, parity, stop_bits: stopBits },
      ]),
    ),
  );
}
