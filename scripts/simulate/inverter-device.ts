/** One simulated battery inverter: the plant's physics behind one MQTT connection. */
import { messageOf } from '../../src/lib/errors.ts';
import type { Clock, Timer } from '../../src/platform/clock/index.ts';
import { type AlertName, createAlertWatch } from './alert-watch.ts';
import type { ConnectionConfiguration } from '../support/connection-configuration.ts';
import {
  type Channel,
  type CommandRequest,
  type DeviceLink,
  LinkLost,
  openDeviceLink,
} from '../support/device-link.ts';
import { applyLimits, CommandRefusal, planCommand } from './inverter-commands.ts';
import type { EnergyCounters } from './inverter.ts';
import { FIRMWARE_VERSION, propertiesOf, telemetryOf } from './inverter-messages.ts';
import type { Mishap } from './mishaps.ts';
import { createOutbox } from './outbox.ts';
import { createPlant, DEFAULT_SETTINGS, type Plant, type PlantReading } from './plant.ts';
import type { Random } from '../support/random.ts';
import type { Statistics } from './statistics.ts';

export interface InverterDeviceOptions {
  config: ConnectionConfiguration;
  clock: Clock;
  random: Random;
  qos: 0 | 1 | 2;
  intervalMs: number;
  /** Part of the interval by which this device is late, so that many do not speak at once. */
  phaseMs: number;
  /** Seconds of the simulated day per real second. */
  timeScale: number;
  hourOfDay: number;
  socPercent: number;
  mishapsPerDay: number;
  /** Happens right after the start. */
  provoke?: Mishap;
  statistics: Statistics;
  /** A line worth showing to the person at the terminal. */
  say: (text: string) => void;
}

export interface InverterDevice {
  readonly isConnected: boolean;
  /** The last measurement; undefined before the first. */
  readonly reading: PlantReading | undefined;
  readonly raisedAlerts: readonly string[];
  /** Says goodbye to the broker, waiting a moment for acknowledgements. */
  stop(): Promise<void>;
}

const PROPERTIES_INTERVAL_MS = 30_000;
const RECONNECT_DELAY_MS = 5_000;
/** Samples kept while the broker is away: ten minutes at 1 Hz. */
const OUTBOX_ENTRIES = 600;
/** Resent at a time, so that a long absence does not run into the broker's message rate. */
const RESEND_ENTRIES = 10;
const COMMAND_STEP_MS = 400;
const DEBUG_LOG_PROBABILITY = 1 / 60;
const REMEMBERED_COMMANDS = 100;
const GOODBYE_MS = 2_000;

const ALERT_TEXTS: Readonly<Record<AlertName, { raised: string; cleared: string; severity: string }>> = {
  grid_lost: {
    raised: 'grid lost, supplying the load from battery and panels',
    cleared: 'grid is back',
    severity: 'warning',
  },
  battery_low: {
    raised: 'state of charge is below the reserve',
    cleared: 'state of charge is back at the reserve',
    severity: 'info',
  },
  battery_overheated: {
    raised: 'battery too warm, charging and discharging stopped',
    cleared: 'battery has cooled down',
    severity: 'error',
  },
};

export function startInverterDevice(options: InverterDeviceOptions): InverterDevice {
  const { clock, config, random, statistics } = options;
  const commissionedDays = random.integer(200, 900);
  const plant = createPlant({
    random: random.fork(1),
    hourOfDay: options.hourOfDay,
    socPercent: options.socPercent,
    mishapsPerDay: options.mishapsPerDay,
    energy: yieldAfter(commissionedDays),
    settings: DEFAULT_SETTINGS,
  });
  if (options.provoke) plant.provoke(options.provoke);

  const judge = createAlertWatch();
  const outbox = createOutbox<Channel>(OUTBOX_ENTRIES, () => void (statistics.dropped += 1));
  const stopping = new AbortController();
  const handled: string[] = [];
  let reading: PlantReading | undefined;
  let raisedAlerts: readonly string[] = [];
  let sampledAtMs = clock.monotonicMs();
  let lostAtMs: number | undefined;
  let started = false;
  let timer: Timer;

  const deliver = async (channel: Channel, body: Record<string, unknown>, again: boolean): Promise<void> => {
    const sentAtMs = clock.monotonicMs();
    statistics.sent += 1;
    try {
      await link.publish(channel, body);
      statistics.acknowledged(clock.monotonicMs() - sentAtMs);
    } catch (error) {
      if (!(error instanceof LinkLost)) throw error;
      statistics.unacknowledged += 1;
      if (again) outbox.add({ kind: channel, body });
    }
  };
  const log = (severity: string, message: string, persist: boolean): Promise<void> =>
    deliver('log', { timestamp: nowS(clock), severity, message, persist }, false);

  const sample = (): void => {
    const nowMs = clock.monotonicMs();
    reading = plant.advance(((nowMs - sampledAtMs) / 1_000) * options.timeScale);
    sampledAtMs = nowMs;
    const { raised, changes } = judge(reading, plant.settings.reservePercent);
    raisedAlerts = [...raised, ...(reading.happening.battery_line ? ['communication_failed'] : [])];
    for (const change of changes) {
      const text = ALERT_TEXTS[change.name];
      options.say(`alert ${change.name} ${change.raised ? 'raised' : 'cleared'}`);
      void log(change.raised ? text.severity : 'info', change.raised ? text.raised : text.cleared, true);
    }
    if (random.chance(DEBUG_LOG_PROBABILITY * Math.min(1, options.intervalMs / 1_000)))
      void log(
        'debug',
        `cell spread ${random.integer(2, 9)} mV, fan ${Math.round(reading.flows.fanSpeedRpm)} rpm`,
        false,
      );
    void deliver('telemetry', { timestamp: nowS(clock), ...telemetryOf(reading, plant, raised) }, true);
  };

  const sendProperties = (): void => {
    if (link.isConnected)
      void deliver('properties', { timestamp: nowS(clock), ...propertiesOf(serialNumberOf(config)) }, false);
  };

  const greet = async (): Promise<void> => {
    options.say('connected');
    sendProperties();
    const awayS = lostAtMs === undefined ? 0 : Math.round((clock.monotonicMs() - lostAtMs) / 1_000);
    lostAtMs = undefined;
    if (!started) await log('info', `firmware ${FIRMWARE_VERSION} started`, true);
    else await log('info', `connected again after ${awayS} s, ${outbox.count} samples kept`, true);
    started = true;
    await deliver('configurationRead', {}, false);
    while (link.isConnected && outbox.count > 0)
      await Promise.all(outbox.take(RESEND_ENTRIES).map(({ kind, body }) => deliver(kind, body, true)));
  };

  const execute = async (request: CommandRequest): Promise<void> => {
    if (handled.includes(request.id))
      return log('warning', `command ${request.id} came twice, ignored`, true);
    handled.push(request.id);
    if (handled.length > REMEMBERED_COMMANDS) handled.shift();
    statistics.commands += 1;
    options.say(`command ${request.name} ${JSON.stringify(request.arguments)}`);
    const answer = (state: string, payload: Record<string, unknown>): Promise<void> =>
      deliver('commandResponse', { id: request.id, state, payload }, true);
    await runCommand(
      plant,
      request,
      reading,
      answer,
      () => clock.sleep(COMMAND_STEP_MS, stopping.signal),
      log,
    );
  };

  const link: DeviceLink = openDeviceLink({
    config,
    clock,
    qos: options.qos,
    reconnectDelayMs: RECONNECT_DELAY_MS,
    onConnected: () => background(greet(), options.say),
    onLost: (reason) => {
      lostAtMs ??= clock.monotonicMs();
      statistics.connectionsLost += 1;
      options.say(`not connected: ${reason}; next attempt in ${RECONNECT_DELAY_MS / 1_000} s`);
    },
    onCommand: (request) => background(execute(request), options.say),
    onConfiguration: (groups) => {
      const taken = applyLimits(plant, groups);
      if (taken.length > 0) void log('info', `configuration taken over: ${taken.join(', ')}`, true);
    },
    onUnreadable: (topic, reason) => options.say(`unreadable message on ${topic}: ${reason}`),
  });

  const arm = (): void => {
    const { intervalMs } = options;
    const dueMs = intervalMs - ((clock.wallMs() - options.phaseMs) % intervalMs);
    timer = clock.setTimer(dueMs, () => {
      arm();
      sample();
    });
  };
  arm();
  const repeated = clock.setRepeating(PROPERTIES_INTERVAL_MS, sendProperties);

  return {
    get isConnected() {
      return link.isConnected;
    },
    get reading() {
      return reading;
    },
    get raisedAlerts() {
      return raisedAlerts;
    },
    stop: async () => {
      timer.cancel();
      repeated.cancel();
      stopping.abort(new Error('the simulated device stops'));
      await link.close(GOODBYE_MS);
    },
  };
}

/** Answers as the public device SDK does: `log` first, then progress, then exactly one final state. */
async function runCommand(
  plant: Plant,
  request: CommandRequest,
  reading: PlantReading | undefined,
  answer: (state: string, payload: Record<string, unknown>) => Promise<void>,
  pause: () => Promise<void>,
  log: (severity: string, message: string, persist: boolean) => Promise<void>,
): Promise<void> {
  try {
    const battery = reading?.state.battery ?? { overheated: false, storedWh: 0 };
    const plan = planCommand(plant, request.name, request.arguments, battery);
    void answer('log', { message: `started ${request.name}` });
    for (const message of plan.steps) {
      await pause();
      void answer('log', { message });
    }
    if (plan.steps.length > 0) await pause();
    const result = plan.apply() ?? null;
    void log('info', `command ${request.name} completed`, true);
    // A table stands at the top level too: forms filled from a command look for its names there.
    await answer('completed', { ...(typeof result === 'object' ? result : {}), result });
  } catch (error) {
    if (!(error instanceof CommandRefusal)) throw error;
    void log('warning', `command ${request.name} refused: ${error.message}`, true);
    await answer('error', { message: error.message });
  }
}

/** Work that nobody waits for; stopping interrupts it, anything else is shown. */
function background(work: Promise<void>, say: (text: string) => void): void {
  work.catch((error: unknown) => say(messageOf(error)));
}

/** A plausible reading of counters that have run for so many days. */
function yieldAfter(days: number): EnergyCounters {
  return {
    pvWh: days * 31_000,
    batteryInWh: days * 7_400,
    batteryOutWh: days * 7_000,
    gridInWh: days * 3_100,
    gridOutWh: days * 17_000,
  };
}

function serialNumberOf(config: ConnectionConfiguration): string {
  return `HX${config.hardwareId.slice(0, 10)}`;
}

function nowS(clock: Clock): number {
  return Math.floor(clock.wallMs() / 1_000);
}
