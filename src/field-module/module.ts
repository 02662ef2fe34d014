/** A communication module. Its main thread owns all ports and connections, other threads run scripts. */
import { LIMITS, type Limits } from '../lib/limits.ts';
import { mapped } from '../lib/members.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../lib/time.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import type { Log } from '../platform/log/index.ts';
import { MODULE_CHANNEL, MODULE_INTERVALS, moduleOffers } from '../protocol/module.ts';
import { Calls } from './calls.ts';
import { createCommands, createDeviceRegistry, type DeviceRegistry } from './device-registry.ts';
import { noAnswer, type Surroundings } from './thread-messages.ts';
import { ContentLibrary } from './content-library.ts';
import { type ControlChannel, createControlChannel, type Order } from './control-channel.ts';
import { DeviceScripts } from './device-scripts.ts';
import { FieldBus, type IoKind } from './field/index.ts';
import type { ModuleConfiguration } from './module-configuration.ts';
import { MqttCalls } from './mqtt-calls.ts';
import { GatewayLink } from './mqtt.ts';
import { createPublisher, type Publisher } from './publisher.ts';
import { Scans } from './scan/scans.ts';
import { ScriptLifecycle } from './script-lifecycle.ts';
import { Traces } from './trace.ts';

interface ModuleOptions {
  configuration: ModuleConfiguration;
  clock: Clock;
  log: Log;
  /** Another text after each start. */
  run: string;
  limits?: Limits;
}

const AT_START: Surroundings = {
  isConnected: false,
  hasRoom: false,
  isClockBelieved: true,
  timeZone: 'UTC',
  commandMs: LIMITS.commands.timeoutMs,
  traced: [],
};

/** Runs from its construction on. */
export class CommunicationModule {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #limits: Limits;
  readonly #bus: FieldBus;
  readonly #mqtt: MqttCalls;
  readonly #library: ContentLibrary;
  readonly #registry: DeviceRegistry;
  readonly #channel: ControlChannel;
  readonly #scans: Scans;
  readonly #traces: Traces;
  readonly #scripts: DeviceScripts;
  readonly #link: GatewayLink;
  readonly #publisher: Publisher;
  readonly #gatewayTime: GatewayTime;
  #surroundings = AT_START;
  /** The last log entry about the clock, and the timer of the next look. */
  #isClockTold = true;
  #doubt: Timer | undefined;
  /** Whether the gateway lets it run scripts, or another module with its credentials; open on each new connection. */
  #standing: 'open' | 'accepted' | 'refused' = 'open';
  /** Commands that came before the decision. */
  #early: { sinceMs: MonotonicMs; carryOut: (heldMs: DurationMs) => void }[] = [];
  readonly #standstill: Standstill;

  constructor(options: ModuleOptions) {
    const { clock, limits = LIMITS } = options;
    const log = options.log.child({ component: 'module' });
    this.#log = log;
    this.#clock = clock;
    this.#limits = limits;
    this.#gatewayTime = new GatewayTime(clock, limits.module.clockMs);
    this.#standstill = new Standstill(clock, MODULE_INTERVALS.telemetryMs);
    this.#bus = createBus(options, limits, log);
    this.#mqtt = new MqttCalls({ clock, limits, gateway: options.configuration.connection });
    this.#library = new ContentLibrary({
      clock,
      limits: limits.module,
      ask: (hash, offset) => void this.#channel.send({ type: 'get', hash, offset }),
      onComplete: () => this.#registry.tryStart(),
      onDamaged: (hash) => log.warn('content came damaged and is fetched again', { hash }),
    });
    this.#registry = this.#createRegistry(clock);
    this.#channel = this.#createChannel(options);
    this.#scans = new Scans({
      bus: this.#bus,
      clock,
      limits: limits.field,
      send: (message) => void this.#channel.send(message),
      onFault: (error) => log.error('scan failed', { error }),
    });
    this.#traces = new Traces({
      clock,
      limits: limits.trace,
      send: (message) => this.#channel.send(message),
      isClockBelieved: () => this.#surroundings.isClockBelieved,
      onChanged: () => this.#surround({ traced: this.#traces.channels }),
    });
    this.#scripts = this.#createScripts(options);
    this.#link = this.#openLink(options);
    this.#publisher = createPublisher({
      link: this.#link,
      clock,
      log,
      limits: limits.module,
      counts: () => ({
        running: this.scriptsRunning,
        failed: this.scriptsFailed,
        portsFailed: this.#bus.portsFailed.length,
      }),
      isClockBelieved: () => this.#surroundings.isClockBelieved,
      onPulse: () => {
        this.#standstill.beat();
        this.#surround({ hasRoom: this.#link.isReady });
        this.#judgeClock();
      },
    });
  }

  get scriptsRunning(): number {
    return this.#registry.count('running');
  }

  get scriptsFailed(): number {
    return this.#registry.count('failed');
  }

  /** Resolves when threads, wires and the connection are closed. */
  async stop(): Promise<void> {
    this.#doubt?.cancel();
    this.#publisher.stop();
    this.#registry.stop();
    this.#library.stop();
    this.#scans.stopAll();
    this.#traces.stop();
    await this.#scripts.stop();
    await this.#bus.close();
    await this.#mqtt.close();
    await this.#link.close();
    this.#log.info('module stopped');
  }

  #createRegistry(clock: Clock): DeviceRegistry {
    return createDeviceRegistry({
      library: this.#library,
      createLifecycle: (assignment) =>
        new ScriptLifecycle({
          assignment,
          clock,
          limits: this.#limits.module,
          library: this.#library,
          scripts: this.#scripts,
          log: this.#log,
          send: (message) => void this.#channel.send(message),
          publisher: this.#publisher,
        }),
    });
  }

  #createChannel({ configuration, clock, run }: ModuleOptions): ControlChannel {
    const { module } = this.#limits;
    return createControlChannel({
      clock,
      limits: module,
      run,
      offers: moduleOffers(Object.keys(configuration.ports), kindsOf(configuration.ioPorts)),
      send: (text) => this.#link.send(MODULE_CHANNEL, 'module', text),
      onMessage: (message) => this.#follow(message),
      onUnreadable: (problem) =>
        this.#log.warnLimited('unreadable', module.sameErrorMs, 'message of the gateway not understood', {
          problem,
        }),
    });
  }

  #createScripts({ clock, configuration }: ModuleOptions): DeviceScripts {
    const calls = new Calls({
      bus: this.#bus,
      channel: this.#channel,
      clock,
      limits: this.#limits.field,
      mqtt: this.#mqtt,
    });
    return new DeviceScripts({
      clock,
      limits: this.#limits,
      calls,
      traceOf: (channelId) => this.#traces.of(channelId),
      surroundings: AT_START,
      ports: mapped(configuration.ports, ({ path }) => path),
      ioPorts: kindsOf(configuration.ioPorts),
      onFault: (error) => this.#log.error('call of a script failed', { error }),
    });
  }

  #openLink({ configuration, clock, log: ofProgram }: ModuleOptions): GatewayLink {
    const log = ofProgram.child({ component: 'link' });
    const command = createCommands({
      registry: this.#registry,
      respond: (channelId, text) => this.#publisher.respond(channelId, text),
      onUnreadable: (channelId) =>
        this.#log.warn('a command request is not readable', { channel_id: channelId }),
    });
    return new GatewayLink({
      connection: configuration.connection,
      clock,
      limits: this.#limits.module,
      onConnected: () => {
        // One that is refused comes back every few seconds, perhaps for years.
        if (this.#standing !== 'refused') log.info('connected to the gateway');
        this.#standing = 'open';
        this.#surround({ isConnected: true, hasRoom: true });
        this.#channel.connected();
        this.#library.askAgain();
        this.#publisher.introduce();
        this.#registry.report();
      },
      onLost: (reason) => {
        const { sameErrorMs } = this.#limits.module;
        // Limited for each reason: a new one is what an installer waits for.
        log.warnLimited(`lost:${reason}`, sameErrorMs, 'no connection to the gateway', { reason });
        this.#early = [];
        this.#channel.lost();
        this.#scans.stopAll();
        this.#surround({ isConnected: false, hasRoom: false });
      },
      onModuleMessage: (payload) => this.#channel.receive(payload),
      onCommand: (channelId, payload) => {
        const { waitedMs } = this.#standstill;
        const carryOut = (heldMs: DurationMs): void => command(channelId, payload, waitedMs + heldMs);
        if (this.#standing === 'accepted') return carryOut(0);
        // Another module with the same credentials may carry it out.
        if (this.#standing !== 'open') return;
        this.#early.push({ sinceMs: clock.monotonicMs(), carryOut });
        // A gateway that never decides must not fill the memory. The oldest commands are late first.
        if (this.#early.length > this.#limits.module.commandsWaiting) this.#early.shift();
      },
    });
  }

  #follow(message: Order): void {
    const registry = this.#registry;
    switch (message.type) {
      case 'assignments':
        return this.#accept(message);
      case 'refused':
        return this.#rest(message.reason);
      case 'content':
        return this.#library.receive(message);
      case 'configuration':
        return registry.configure(message.channel_id, message.groups, message.written);
      case 'configuration_check':
      case 'configuration_read': {
        const lifecycle = registry.get(message.channel_id);
        return lifecycle ? lifecycle.ask(message) : void this.#channel.send(noAnswer(message));
      }
      case 'scan':
        return this.#scans.start(message);
      case 'scan_stop':
        return this.#scans.stop(message.id);
      case 'trace':
        return this.#traces.follow(message);
      case 'restart':
        return registry.restart(message.channel_id, message.assignment_count);
    }
  }

  #accept(message: Order & { type: 'assignments' }): void {
    const { time_zone: timeZone, command_timeout_s: commandS, devices, revision } = message;
    this.#gatewayTime.told(message.now_ms);
    this.#judgeClock();
    this.#surround({
      timeZone,
      commandMs: commandS === undefined ? AT_START.commandMs : commandS * 1_000,
    });
    this.#registry.assign(devices);
    this.#log.info('assignments', { devices: devices.length, revision });
    this.#standing = 'accepted';
    const nowMs = this.#clock.monotonicMs();
    for (const { sinceMs, carryOut } of this.#early.splice(0))
      if (nowMs - sinceMs <= this.#limits.module.answerMs) carryOut(nowMs - sinceMs);
  }

  /** Runs nothing until the gateway accepts it; the channel keeps asking. */
  #rest(reason: string): void {
    this.#standing = 'refused';
    this.#early = [];
    this.#registry.assign([]);
    this.#log.warnLimited('refused', this.#limits.module.sameErrorMs, 'this module runs nothing', { reason });
  }

  #judgeClock(): void {
    const { isBelieved } = this.#gatewayTime;
    if (isBelieved === this.#surroundings.isClockBelieved) return;
    this.#surround({ isClockBelieved: isBelieved });
    // The time that it sent may be old: it sends a new one with the assignments.
    if (!isBelieved && this.#surroundings.isConnected) this.#channel.connected();
    this.#doubt?.cancel();
    this.#doubt = this.#clock.setTimer(this.#limits.module.clockDoubtMs, () => this.#tellClock());
  }

  #tellClock(): void {
    const { isBelieved, aheadMs } = this.#gatewayTime;
    if (isBelieved === this.#isClockTold) return;
    this.#isClockTold = isBelieved;
    const way = aheadMs > 0 ? 'ahead of' : 'behind';
    const message = isBelieved
      ? 'The clock of the board of this module is right again.'
      : `The clock of the board of this module is ${Math.round(Math.abs(aheadMs) / 1_000)} s ${way} the gateway's. ` +
        'Values get the time at which the gateway receives them; set the clock, or let a time service do it.';
    this.#publisher.log(MODULE_CHANNEL, {
      message,
      severity: isBelieved ? 'info' : 'warning',
      persist: true,
    });
  }

  /** Passes on changes only. */
  #surround(change: Partial<Surroundings>): void {
    const entries = Object.entries(change) as [keyof Surroundings, unknown][];
    if (entries.every(([name, value]) => this.#surroundings[name] === value)) return;
    this.#surroundings = { ...this.#surroundings, ...change };
    this.#scripts.surround(this.#surroundings);
  }
}

function kindsOf(ioPorts: ModuleConfiguration['ioPorts']): Record<string, IoKind> {
  return mapped(ioPorts, ({ kind }) => kind);
}

function createBus({ clock, configuration }: ModuleOptions, limits: Limits, log: Log): FieldBus {
  return new FieldBus({
    clock,
    ports: configuration.ports,
    ioPorts: configuration.ioPorts,
    limits: limits.field,
    onPortFailed: (failure) =>
      log.warnLimited(`port:${failure.port}`, limits.module.sameErrorMs, 'port failed', failure),
  });
}

// Whether the clock of this board is right, judged by the time that the gateway sent. A board without a battery
// begins with the time of its last shutdown: values stamped by it would pass for old ones, or be dropped as such.

export class GatewayTime {
  readonly #clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  readonly #toleranceMs: DurationMs;
  /** The time that the gateway sent last, and when it arrived. */
  #told: { nowMs: EpochMs; atMs: MonotonicMs } | undefined;

  constructor(clock: Pick<Clock, 'wallMs' | 'monotonicMs'>, toleranceMs: DurationMs) {
    this.#clock = clock;
    this.#toleranceMs = toleranceMs;
  }

  /** Takes the time of the gateway; undefined: its clock is not set. */
  told(nowMs: EpochMs | undefined): void {
    this.#told = nowMs === undefined ? undefined : { nowMs, atMs: this.#clock.monotonicMs() };
  }

  /** How far this board is ahead of the gateway; 0 while the gateway's time is unknown. */
  get aheadMs(): DurationMs {
    if (this.#told === undefined) return 0;
    const { nowMs, atMs } = this.#told;
    return this.#clock.wallMs() - (nowMs + this.#clock.monotonicMs() - atMs);
  }

  get isBelieved(): boolean {
    return Math.abs(this.aheadMs) <= this.#toleranceMs;
  }
}

// How long a message that arrives now may have waited unread: a program stands still while its machine is paused or out of
// memory, and a command that came meanwhile must not pass for a new one.

/** A beat later than this means that the program stood still. */
const LATE_MS = 1_000;
/** Within this time everything that waited in the socket is read. */
const READING_MS = 2_000;

export class Standstill {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #intervalMs: DurationMs;
  #beatAtMs: MonotonicMs;
  #last: { sinceMs: MonotonicMs; readAtMs: MonotonicMs } | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>, intervalMs: DurationMs) {
    this.#clock = clock;
    this.#intervalMs = intervalMs;
    this.#beatAtMs = clock.monotonicMs();
  }

  /** To be called at least every `intervalMs`. */
  beat(): void {
    const nowMs = this.#clock.monotonicMs();
    if (this.#isLate(nowMs)) this.#last = { sinceMs: this.#beatAtMs, readAtMs: nowMs + READING_MS };
    this.#beatAtMs = nowMs;
  }

  /** The longest possible wait; 0 while the program runs without a pause. */
  get waitedMs(): DurationMs {
    const nowMs = this.#clock.monotonicMs();
    const isBeingRead = this.#last !== undefined && nowMs < this.#last.readAtMs;
    if (isBeingRead) return nowMs - (this.#last?.sinceMs ?? nowMs);
    return this.#isLate(nowMs) ? nowMs - this.#beatAtMs : 0;
  }

  #isLate(nowMs: MonotonicMs): boolean {
    return nowMs - this.#beatAtMs > this.#intervalMs + LATE_MS;
  }
}
