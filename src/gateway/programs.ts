/** The child programs that the gateway keeps running. */
import { dirname } from 'node:path';
import { BuiltInModule } from '../capabilities/modules/index.ts';
import type { IoPortRecord, ModulePorts, SerialPortRecord } from '../capabilities/module-ports/index.ts';
import { configurationToWire } from '../capabilities/provisioning/index.ts';
import { createRuleMethods, createRecordedMethods, RuleSandbox } from '../capabilities/rules/index.ts';
import { isSerialServer, localAddress } from '../lib/address.ts';
import { LIMITS } from '../lib/limits.ts';
import { Processes, programEntry, type ProgramRights } from '../platform/processes/index.ts';
import { type IoPortKind, MODULE_NODE_OPTIONS, MODULE_PROTOCOL, moduleOffers } from '../protocol/module.ts';
import type { Capabilities, Listening } from './capabilities.ts';
import type { Infrastructure, StartedHook } from './infrastructure.ts';

/** Starts the programs without waiting for them, because the gateway works without each of them. */
export async function startPrograms(
  infrastructure: Infrastructure,
  parts: Capabilities,
  listening: Listening,
  started: StartedHook,
): Promise<void> {
  const { options, metrics } = infrastructure;
  const { config, clock, log } = options;
  const processes = new Processes({ clock, log, metrics });
  listening.missingPrograms = () => processes.missing();
  const owners: { stop: () => Promise<void> | void }[] = [];
  started('programs', async () => {
    // In parallel, because each may take the whole time.
    await Promise.all([...owners.map((owner) => owner.stop()), processes.stop()]);
  });
  const onEnded = (): void => void listening.restarts++;
  // Rules and scripts act by themselves, also on devices in the field.
  if (infrastructure.rehearsal) return;
  // Also what the rules of an earlier run held, whether rules run now or not.
  parts.outputs.start((ruleId, severity, message) => parts.rules.logs.append(ruleId, severity, message));
  if (config.ruleSandbox) owners.push(startRules(infrastructure, processes, parts, onEnded));
  if (config.builtInModule) owners.push(await startModule(infrastructure, processes, parts, onEnded));
}

async function startModule(
  { options }: Infrastructure,
  processes: Processes,
  { provisioning, devices, connectivity, modules, modulePorts }: Capabilities,
  onEnded: () => void,
): Promise<BuiltInModule> {
  const { config, clock } = options;
  const ports = () => settingsOf(modulePorts.serial());
  const ioPorts = () => ioSettingsOf(modulePorts.io());
  const connection = await provisioning.configureOwnModule(localAddress(config.mqttHost));
  const module = new BuiltInModule({
    clock,
    devices,
    connectivity,
    module: () => provisioning.own.module,
    offers: () => moduleOffers(Object.keys(ports()), kindsOf(modulePorts.io())),
    onEnded,
    program: (on) =>
      processes.program({
        name: 'communication-module',
        entry: programEntry('field-module/main'),
        protocolVersion: MODULE_PROTOCOL.version,
        nodeOptions: MODULE_NODE_OPTIONS,
        rights: () => moduleRights(modulePorts),
        settings: () => ({
          config: configurationToWire(connection),
          ports: { ...ports(), ...ioPorts() },
          log_level: config.logLevel,
        }),
        onPayload: () => undefined,
        ...on,
      }),
  });
  modulePorts.events.on('ports_changed', 'built-in module', () => module.portsChanged());
  modules.builtIn = module;
  module.start();
  return module;
}

function startRules(
  { options, state, metrics }: Infrastructure,
  processes: Processes,
  parts: Capabilities,
  onEnded: () => void,
): RuleSandbox {
  const { config, clock, log } = options;
  const { rules, site, devices, telemetry, commands, outputs, notifications } = parts;
  const asked = {
    database: state,
    store: rules.storage,
    clock,
    limits: LIMITS.rules,
    devices,
    telemetry,
    commands,
    outputs,
    notifications,
  };
  const callMethod = createRuleMethods(asked);
  const sandbox = new RuleSandbox({
    processes,
    entry: programEntry('scripting/rule-sandbox/main'),
    log,
    metrics,
    // JSON, because text of two programs would be mixed up on one terminal.
    logSettings: { level: config.logLevel, format: 'json' },
    site,
    devices,
    telemetry,
    outputs,
    callMethod,
    callRecordedMethod: createRecordedMethods(asked, callMethod),
    clock,
    appendLog: (ruleId, severity, message) => rules.logs.append(ruleId, severity, message),
    keepRuns: (ruleId, runs) => rules.keepRuns(ruleId, runs),
    onEnded,
  });
  rules.start(sandbox);
  return sandbox;
}

/**
 * Programs of the system set the line of a serial port (`stty`) and do all of CAN and contacts, for which the runtime has no
 * calls. Analogue channels are files of a folder.
 */
function moduleRights(ports: ModulePorts): ProgramRights {
  const serial = ports.serial().filter(({ path }) => !isSerialServer(path));
  const io = ports.io();
  const channels = io.filter(({ kind }) => kind === 'ANALOG_INPUT');
  return {
    network: true,
    deviceFiles: serial.map(({ path }) => path),
    readFolders: [...new Set(channels.map(({ path }) => dirname(path)))],
    systemPrograms: serial.length > 0 || io.length > channels.length,
  };
}

function kindsOf(ports: readonly IoPortRecord[]): Record<string, IoPortKind> {
  return Object.fromEntries(ports.map(({ name, kind }) => [name, KINDS[kind]]));
}

/** Kinds of ports in the spelling of modules. */
const KINDS = {
  CAN: 'can',
  DIGITAL_INPUT: 'digital_input',
  DIGITAL_OUTPUT: 'digital_output',
  ANALOG_INPUT: 'analog_input',
} as const;

function ioSettingsOf(ports: readonly IoPortRecord[]): Record<string, object> {
  return Object.fromEntries(
    ports.map(({ name, kind, path, line, isActiveLow, bias, debounceMs }) => [
      name,
      {
        kind: KINDS[kind],
        path,
        ...(line !== null && { line, active_low: isActiveLow }),
        ...(bias !== null && { bias: bias.toLowerCase(), debounce_ms: debounceMs }),
      },
    ]),
  );
}

/** As the module reads them: the line of each name and alias. */
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
