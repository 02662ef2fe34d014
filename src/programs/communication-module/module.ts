/** A communication module: its parts wired together. The main thread owns all wires, other threads run scripts. */
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { type FromModule, MODULE_CHANNEL, moduleOffers } from '../../protocol/module.ts';
import { Calls } from './calls.ts';
import { createCommands } from './commands.ts';
import { ContentLibrary } from './content-library.ts';
import { type ControlChannel, type ControlChannelOptions, createControlChannel } from './control-channel.ts';
import { ScriptLifecycle, type ScriptLifecycleOptions } from './script-lifecycle.ts';
import { FieldBus, type IoKind } from './field/index.ts';
import type { ModuleConfiguration } from './module-configuration.ts';
import { GatewayLink, type GatewayLinkOptions } from './mqtt.ts';
import { createDeviceRegistry, type DeviceRegistry } from './device-registry.ts';
import { DeviceScripts } from './device-scripts.ts';
import { Scans } from './scan/scans.ts';
import type { Surroundings } from './thread-messages.ts';
import { createPublisher, type Publisher } from './publisher.ts';

interface ModuleOptions {
  configuration: ModuleConfiguration;
  clock: Clock;
  log: Log;
  /** Another text after each start. */
  run: string;
  limits?: Limits;
  /** Default: the network and the system's serial ports. */
  bus?: FieldBus;
}

export interface CommunicationModule {
  readonly scriptsRunning: number;
  readonly scriptsFailed: number;
  /** Resolves when threads, wires and the connection are closed. */
  stop(): Promise<void>;
}

const AT_START: Surroundings = {
  isConnected: false,
  hasRoom: false,
  timeZone: 'UTC',
  commandMs: LIMITS.commands.timeoutMs,
};

export function startModule(options: ModuleOptions): CommunicationModule {
  const { configuration, clock, limits = LIMITS } = options;
  const log = options.log.child({ component: 'module' });
  const bus = options.bus ?? ownBus(options, limits, log);
  const surround = createSurroundings((surroundings) => scripts.surround(surroundings));
  const library = new ContentLibrary({
    clock,
    limits: limits.module,
    ask: (hash, offset) => void channel.send({ type: 'get', hash, offset }),
    onComplete: () => registry.tryStart(),
    onDamaged: (hash) => log.warn('content came damaged and is fetched again', { hash }),
  });
  const registry = createDeviceRegistry({
    library,
    createLifecycle: (assignment) =>
      new ScriptLifecycle({
        ...lifecycleOptions(),
        assignment,
        ...deviceEvents(assignment.channel_id, parts),
      }),
  });
  const lifecycleOptions = () => ({ clock, limits: limits.module, library, scripts });
  const channel = createControlChannel({
    clock,
    limits: limits.module,
    run: options.run,
    offers: moduleOffers(Object.keys(configuration.ports), kindsOf(configuration.ioPorts)),
    send: (text) => link.send(MODULE_CHANNEL, 'module', text),
    ...gatewayEvents(registry, log, {
      send: (message) => channel.send(message),
      onContent: (chunk) => library.receive(chunk),
      onSite: surround,
      scans: () => scans,
    }),
  });
  const scans = scansOf({ bus, clock, limits, log, send: (message) => void channel.send(message) });
  const calls = new Calls({ bus, channel, clock, limits: limits.field });
  const scripts = scriptsOf(options, { limits, log, calls });
  const link = openLink(options, limits, {
    onConnected: () => {
      surround({ isConnected: true, hasRoom: true });
      channel.connected();
      library.askAgain();
      publisher.introduce();
      registry.report();
    },
    onLost: () => {
      channel.lost();
      scans.stopAll();
      surround({ isConnected: false, hasRoom: false });
    },
    onModuleMessage: (payload) => channel.receive(payload),
    onCommand: (channelId, payload) => command(channelId, payload),
  });
  const publisher = createPublisher({
    link,
    clock,
    log,
    limits: limits.module,
    counts: () => countsOf(registry, bus),
    onPulse: () => surround({ hasRoom: link.isReady }),
  });
  const parts = { channel, publisher, log };
  const command = createCommands({
    registry,
    respond: (channelId, text) => publisher.respond(channelId, text),
    onUnreadable: (channelId) => log.warn('a command request is not readable', { channel_id: channelId }),
  });
  return face({ registry, library, scripts, scans, bus, link, publisher, log });
}

function scansOf(parts: {
  bus: FieldBus;
  clock: Clock;
  limits: Limits;
  log: Log;
  send: (message: FromModule) => void;
}): Scans {
  const { limits, log, ...same } = parts;
  return new Scans({
    ...same,
    limits: limits.field,
    onFault: (error) => log.error('scan failed', { error }),
  });
}

function kindsOf(ioPorts: ModuleConfiguration['ioPorts']): Record<string, IoKind> {
  return Object.fromEntries(Object.entries(ioPorts).map(([name, { kind }]) => [name, kind]));
}

function scriptsOf(
  { clock, configuration }: ModuleOptions,
  { limits, log, calls }: { limits: Limits; log: Log; calls: Calls },
): DeviceScripts {
  return new DeviceScripts({
    clock,
    limits,
    calls,
    surroundings: AT_START,
    ports: Object.fromEntries(Object.entries(configuration.ports).map(([name, { path }]) => [name, path])),
    ioPorts: kindsOf(configuration.ioPorts),
    onFault: (error) => log.error('call of a script failed', { error }),
  });
}

function countsOf(registry: DeviceRegistry, bus: FieldBus) {
  return {
    running: registry.count('running'),
    failed: registry.count('failed'),
    portsFailed: bus.portsFailed.length,
  };
}

function ownBus({ clock, configuration }: ModuleOptions, limits: Limits, log: Log): FieldBus {
  return new FieldBus({
    clock,
    ports: configuration.ports,
    ioPorts: configuration.ioPorts,
    limits: limits.field,
    onPortFailed: (failure) =>
      log.warnLimited(`port:${failure.port}`, limits.module.sameErrorMs, 'port failed', failure),
  });
}

function face(parts: {
  registry: DeviceRegistry;
  library: { stop: () => void };
  scripts: DeviceScripts;
  scans: Scans;
  bus: FieldBus;
  link: GatewayLink;
  publisher: Publisher;
  log: Log;
}): CommunicationModule {
  const { registry, library, scripts, scans, bus, link, publisher, log } = parts;
  return {
    get scriptsRunning() {
      return registry.count('running');
    },
    get scriptsFailed() {
      return registry.count('failed');
    },
    stop: async () => {
      publisher.stop();
      registry.stop();
      library.stop();
      scans.stopAll();
      await scripts.stop();
      await bus.close();
      await link.close();
      log.info('module stopped');
    },
  };
}

/** Tells of changes only. */
function createSurroundings(
  tell: (surroundings: Surroundings) => void,
): (change: Partial<Surroundings>) => void {
  let surroundings = AT_START;
  return (change) => {
    const entries = Object.entries(change) as [keyof Surroundings, unknown][];
    if (entries.every(([name, value]) => surroundings[name] === value)) return;
    surroundings = { ...surroundings, ...change };
    tell(surroundings);
  };
}

type LinkEvents = Pick<GatewayLinkOptions, 'onConnected' | 'onModuleMessage' | 'onCommand'> & {
  onLost: () => void;
};

function openLink(options: ModuleOptions, limits: Limits, on: LinkEvents): GatewayLink {
  const log = options.log.child({ component: 'link' });
  return new GatewayLink({
    connection: options.configuration.connection,
    clock: options.clock,
    limits: limits.module,
    onConnected: () => {
      log.info('connected to the gateway');
      on.onConnected();
    },
    onLost: (reason) => {
      log.warnLimited('lost', limits.module.sameErrorMs, 'no connection to the gateway', { reason });
      on.onLost();
    },
    onModuleMessage: on.onModuleMessage,
    onCommand: on.onCommand,
  });
}

/** What follows from the messages of the gateway. */
function gatewayEvents(
  registry: DeviceRegistry,
  log: Log,
  on: Pick<ControlChannelOptions, 'onContent'> & {
    send: ControlChannel['send'];
    scans: () => Scans;
    onSite: (site: Pick<Surroundings, 'timeZone' | 'commandMs'>) => void;
  },
): Omit<ControlChannelOptions, 'clock' | 'limits' | 'run' | 'offers' | 'send'> {
  return {
    onContent: on.onContent,
    onScan: (order) => on.scans().start(order),
    onScanStop: (id) => on.scans().stop(id),
    onAssignments: (message) => {
      const { time_zone: timeZone, command_timeout_s: commandS } = message;
      on.onSite({ timeZone, commandMs: commandS === undefined ? AT_START.commandMs : commandS * 1_000 });
      registry.assign(message);
      log.info('assignments', { devices: message.devices.length, revision: message.revision });
    },
    onConfiguration: ({ channel_id: channelId, groups, written }) =>
      registry.configure(channelId, groups, written),
    onConfigurationCheck: ({ id, channel_id: channelId, group, values }) => {
      const lifecycle = registry.get(channelId);
      if (lifecycle) lifecycle.check(id, group, values);
      else on.send({ type: 'configuration_verdict', id });
    },
    onConfigurationRead: ({ id, channel_id: channelId, group }) => {
      const lifecycle = registry.get(channelId);
      if (lifecycle) lifecycle.read(id, group);
      else on.send({ type: 'configuration_values', id });
    },
    onRestart: (channelId) => registry.restart(channelId),
    onUnreadable: (problem) =>
      log.warnLimited('unreadable', LIMITS.module.sameErrorMs, 'message of the gateway not understood', {
        problem,
      }),
  };
}

type DeviceEvents = Pick<
  ScriptLifecycleOptions,
  'onStatus' | 'onPublish' | 'onLog' | 'onResponse' | 'onVerdict' | 'onValues'
>;

/** What a device says goes to the gateway. */
function deviceEvents(
  channelId: ScriptLifecycle['assignment']['channel_id'],
  { channel, publisher, log }: { channel: ControlChannel; publisher: Publisher; log: Log },
): DeviceEvents {
  return {
    onStatus: (status) => {
      log.debug('script', { channel_id: channelId, state: status.state });
      channel.send(status);
    },
    onPublish: (subject, text) => publisher.publish(channelId, subject, text),
    onLog: (entry) => publisher.log(channelId, entry),
    onResponse: (text) => publisher.respond(channelId, text),
    onVerdict: (id, refusal) =>
      void channel.send({
        type: 'configuration_verdict',
        id,
        ...(refusal === undefined ? {} : { refusal }),
      }),
    onValues: (id, values) =>
      void channel.send({
        type: 'configuration_values',
        id,
        ...(values === undefined ? {} : { values }),
      }),
  };
}
