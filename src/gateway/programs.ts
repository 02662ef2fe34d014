/** The programs that the gateway starts beside itself and keeps running. */
import { BuiltInModule } from '../capabilities/modules/index.ts';
import { configurationToWire } from '../capabilities/provisioning/index.ts';
import {
  createQuestions,
  createRecordedQuestions,
  createRuleSandbox,
  type RuleSandbox,
} from '../capabilities/rules/index.ts';
import { LIMITS } from '../lib/limits.ts';
import type { Config } from '../platform/config/index.ts';
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
  { provisioning, devices, connectivity }: Capabilities,
  onEnded: () => void,
): Promise<BuiltInModule> {
  const { config, clock } = options;
  const ports = serialPorts(config.serialPorts);
  const connection = await provisioning.configureOwnModule(localHost(config.mqttHost));
  const module = new BuiltInModule({
    clock,
    devices,
    connectivity,
    module: () => provisioning.own.module,
    portNames: Object.keys(ports),
    onEnded,
    program: (on) =>
      processes.program({
        name: 'communication-module',
        entry: programEntry('programs/communication-module/main'),
        protocolVersion: MODULE_PROTOCOL.version,
        nodeOptions: MODULE_NODE_OPTIONS,
        rights: moduleRights(Object.values(ports).map(({ path }) => path)),
        settings: () => ({ config: configurationToWire(connection), ports, log_level: config.logLevel }),
        onPayload: () => undefined,
        ...on,
      }),
  });
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

/** `rs485=/dev/ttyUSB0:9600:8N1` and so on, as the option's check has let it pass. */
function serialPorts(text: Config['serialPorts']): Record<string, { path: string }> {
  const ports = (text ?? '').split(',').filter((port) => port !== '');
  return Object.fromEntries(
    ports.map((port) => {
      const [name = '', line = ''] = port.split('=');
      const [path = '', baudRate = '9600', format = '8N1'] = line.split(':');
      return [
        name.trim(),
        {
          path,
          baud_rate: Number(baudRate),
          data_bits: Number(format[0]),
          parity: format[1],
          stop_bits: Number(format[2]),
        },
      ];
    }),
  );
}
