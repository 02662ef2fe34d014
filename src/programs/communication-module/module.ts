/** A communication module: its parts wired together. The main thread owns all wires, other threads run scripts. */
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import { MODULE_CHANNEL, moduleOffers } from '../../protocol/module.ts';
import { createCalls } from './calls.ts';
import { createCommands } from './commands.ts';
import { createContentLibrary } from './content-library.ts';
import { type Conversation, type ConversationOptions, createConversation } from './conversation.ts';
import { createDeviceLife, type DeviceLife } from './device-life.ts';
import { createFieldBus, type FieldBus } from './field/index.ts';
import type { ModuleConfiguration } from './module-configuration.ts';
import { type GatewayLink, openGatewayLink } from './mqtt.ts';
import { createRoster, type Roster } from './roster.ts';
import { createScriptPool, type ScriptPool, type ScriptPoolOptions } from './script-pool.ts';
import type { Surroundings } from './thread-messages.ts';
import { createVoice, type Voice } from './voice.ts';

export interface ModuleOptions {
  configuration: ModuleConfiguration;
  clock: Clock;
  log: Log;
  /** Another text after each start. */
  run: string;
  startThread: ScriptPoolOptions['startThread'];
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

const AT_START: Surroundings = { isConnected: false, hasRoom: false, timeZone: 'UTC' };

export function startModule(options: ModuleOptions): CommunicationModule {
  const { configuration, clock, limits = LIMITS } = options;
  const { ports } = configuration;
  const log = options.log.child({ component: 'module' });
  const bus = options.bus ?? createFieldBus({ clock, ports, limits: limits.field });
  const surround = createSurroundings((surroundings) => pool.surround(surroundings));
  const library = createContentLibrary({
    clock,
    limits: limits.module,
    ask: (hash, offset) => void conversation.say({ type: 'get', hash, offset }),
    onComplete: () => roster.tryStart(),
    onDamaged: (hash) => log.warn('content came damaged and is fetched again', { hash }),
  });
  const roster = createRoster({
    library,
    createLife: (assignment) =>
      createDeviceLife({ ...lifeOptions(), assignment, ...deviceEvents(assignment.channel_id, parts) }),
  });
  const lifeOptions = () => ({ clock, limits: limits.module, library, pool });
  const conversation = createConversation({
    clock,
    limits: limits.module,
    run: options.run,
    offers: moduleOffers(Object.keys(ports)),
    send: (text) => link.send(MODULE_CHANNEL, 'module', text),
    ...gatewayEvents(roster, log, {
      say: (message) => conversation.say(message),
      onContent: (piece) => library.receive(piece),
      onTimeZone: (timeZone) => surround({ timeZone }),
    }),
  });
  const pool = createScriptPool({
    clock,
    limits: limits.module,
    watchLimits: limits.lua,
    calls: createCalls({ bus, conversation, limits: limits.field }),
    surroundings: AT_START,
    ports: Object.fromEntries(Object.entries(ports).map(([name, { path }]) => [name, path])),
    onFault: (error) => log.error('call of a script failed', { error }),
    startThread: options.startThread,
  });
  const link = openLink(options, limits, {
    onConnected: () => {
      surround({ isConnected: true, hasRoom: true });
      conversation.connected();
      library.askAgain();
      voice.introduce();
      roster.report();
    },
    onLost: () => {
      conversation.lost();
      surround({ isConnected: false, hasRoom: false });
    },
    onModuleMessage: (payload) => conversation.receive(payload),
    onCommand: (channelId, payload) => command(channelId, payload),
  });
  const voice = createVoice({
    link,
    clock,
    log,
    limits: limits.module,
    counts: () => ({ running: roster.count('running'), failed: roster.count('failed') }),
    onPulse: () => surround({ hasRoom: link.isReady }),
  });
  const parts = { conversation, voice, log };
  const command = createCommands({
    roster,
    respond: (channelId, text) => voice.respond(channelId, text),
    onUnreadable: (channelId) => log.warn('a command request is not readable', { channel_id: channelId }),
  });
  return face({ roster, library, pool, bus, link, voice, log });
}

function face(parts: {
  roster: Roster;
  library: { stop: () => void };
  pool: ScriptPool;
  bus: FieldBus;
  link: GatewayLink;
  voice: Voice;
  log: Log;
}): CommunicationModule {
  const { roster, library, pool, bus, link, voice, log } = parts;
  return {
    get scriptsRunning() {
      return roster.count('running');
    },
    get scriptsFailed() {
      return roster.count('failed');
    },
    stop: async () => {
      voice.stop();
      roster.stop();
      library.stop();
      await pool.stop();
      bus.close();
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

type LinkEvents = Pick<
  Parameters<typeof openGatewayLink>[0],
  'onConnected' | 'onModuleMessage' | 'onCommand'
> & { onLost: () => void };

function openLink(options: ModuleOptions, limits: Limits, on: LinkEvents): GatewayLink {
  const log = options.log.child({ component: 'link' });
  return openGatewayLink({
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
  roster: Roster,
  log: Log,
  on: Pick<ConversationOptions, 'onContent'> & {
    say: Conversation['say'];
    onTimeZone: (timeZone: string) => void;
  },
): Omit<ConversationOptions, 'clock' | 'limits' | 'run' | 'offers' | 'send'> {
  return {
    onContent: on.onContent,
    onAssignments: (message) => {
      on.onTimeZone(message.time_zone);
      roster.assign(message);
      log.info('assignments', { devices: message.devices.length, revision: message.revision });
    },
    onConfiguration: ({ channel_id: channelId, groups, written }) =>
      roster.configure(channelId, groups, written),
    onConfigurationCheck: ({ id, channel_id: channelId, group, values }) => {
      const life = roster.get(channelId);
      if (life) life.check(id, group, values);
      else on.say({ type: 'configuration_verdict', id });
    },
    onConfigurationRead: ({ id, channel_id: channelId, group }) => {
      const life = roster.get(channelId);
      if (life) life.read(id, group);
      else on.say({ type: 'configuration_values', id });
    },
    onRestart: (channelId) => roster.restart(channelId),
    onUnreadable: (problem) =>
      log.warnLimited('unreadable', LIMITS.module.sameErrorMs, 'message of the gateway not understood', {
        problem,
      }),
  };
}

type DeviceEvents = Pick<
  Parameters<typeof createDeviceLife>[0],
  'onStatus' | 'onPublish' | 'onLog' | 'onResponse' | 'onVerdict' | 'onValues'
>;

/** What a device says goes to the gateway. */
function deviceEvents(
  channelId: DeviceLife['assignment']['channel_id'],
  { conversation, voice, log }: { conversation: Conversation; voice: Voice; log: Log },
): DeviceEvents {
  return {
    onStatus: (status) => {
      log.debug('script', { channel_id: channelId, state: status.state });
      conversation.say(status);
    },
    onPublish: (subject, text) => voice.publish(channelId, subject, text),
    onLog: (entry) => voice.log(channelId, entry),
    onResponse: (text) => voice.respond(channelId, text),
    onVerdict: (id, refusal) =>
      void conversation.say({
        type: 'configuration_verdict',
        id,
        ...(refusal === undefined ? {} : { refusal }),
      }),
    onValues: (id, values) =>
      void conversation.say({
        type: 'configuration_values',
        id,
        ...(values === undefined ? {} : { values }),
      }),
  };
}
