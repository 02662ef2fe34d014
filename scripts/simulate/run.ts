/** Runs simulated devices until the signal, and tells on the terminal how they are. */
import { readFileSync } from 'node:fs';
import type { Clock } from '../../src/platform/clock/index.ts';
import {
  type ConnectionConfiguration,
  parseConnectionConfiguration,
} from '../support/connection-configuration.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  inParallel,
  provisionDevice,
  takeUpDevice,
} from '../support/gateway-client.ts';
import { type InverterDevice, startInverterDevice } from './inverter-device.ts';
import type { SimulateOptions } from './options.ts';
import type { Random } from '../support/random.ts';
import { createStatistics, type Statistics } from './statistics.ts';
import type { Terminal } from './terminal.ts';

const STATUS_INTERVAL_MS = 1_000;
const STATUS_INTERVAL_PLAIN_MS = 10_000;
const PROVISIONED_AT_ONCE = 8;
/** Between the first connections of two devices. */
const STAGGER_MS = 20;

export interface SimulateParts {
  options: SimulateOptions;
  clock: Clock;
  random: Random;
  terminal: Terminal;
  /** True when the status line is rewritten in place. */
  isLive: boolean;
  signal: AbortSignal;
  readInput: () => string;
}

/** Returns when the signal is aborted and every device has said goodbye. */
export async function simulate(parts: SimulateParts): Promise<void> {
  const { options, clock, terminal, signal } = parts;
  const configs = await credentials(parts);
  const statistics = createStatistics();
  const devices: InverterDevice[] = [];
  const shown = (): void => terminal.status(statusOf(devices, configs.length, statistics));
  const repeated = clock.setRepeating(parts.isLive ? STATUS_INTERVAL_MS : STATUS_INTERVAL_PLAIN_MS, shown);
  try {
    for (const [index, config] of configs.entries()) {
      if (signal.aborted) break;
      devices.push(startDevice(parts, config, index, configs.length, statistics));
      if (configs.length > 1) await clock.sleep(STAGGER_MS);
    }
    await untilAborted(signal);
  } finally {
    repeated.cancel();
    await Promise.all(devices.map((device) => device.stop()));
    shown();
  }
  if (options.devices > 1) terminal.line(`${statistics.dropped} messages given up`);
}

async function credentials(parts: SimulateParts): Promise<ConnectionConfiguration[]> {
  const { options, clock, terminal } = parts;
  const { source } = options;
  if (source.kind === 'file') {
    const text = source.path === '-' ? parts.readInput() : readFileSync(source.path, 'utf8');
    return [parseConnectionConfiguration(text)];
  }
  const client = createGatewayClient({ baseUrl: source.baseUrl, tokens: [source.token], clock });
  const blueprintId = await batteryInverterBlueprint(client);
  const names = Array.from({ length: options.devices }, (_, index) =>
    options.devices === 1 ? options.namePrefix : `${options.namePrefix} ${index + 1}`,
  );
  return inParallel(names, PROVISIONED_AT_ONCE, async (name) => {
    const known = options.devices === 1 ? await takeUpDevice(client, name) : undefined;
    const device = known ?? (await provisionDevice(client, name));
    await assignBlueprint(client, device.id, blueprintId);
    if (options.devices === 1)
      terminal.line(`device ${device.slug} (${device.id})${known ? ', taken up again' : ''}`);
    return device.config;
  });
}

function startDevice(
  parts: SimulateParts,
  config: ConnectionConfiguration,
  index: number,
  count: number,
  statistics: Statistics,
): InverterDevice {
  const { options, clock, terminal } = parts;
  const now = new Date(clock.wallMs());
  return startInverterDevice({
    config,
    clock,
    random: parts.random.fork(index),
    qos: options.qos,
    intervalMs: options.intervalMs,
    phaseMs: (index / count) * options.intervalMs,
    timeScale: options.timeScale,
    hourOfDay: options.hourOfDay ?? now.getHours() + now.getMinutes() / 60,
    socPercent: options.socPercent,
    mishapsPerDay: options.mishapsPerDay,
    ...(options.provoke ? { provoke: options.provoke } : {}),
    statistics,
    // Many devices would drown the terminal.
    say: count === 1 ? (text) => terminal.line(`${clockTime(clock)} ${text}`) : () => undefined,
  });
}

/** One device: its measurement. Many: how the messages fare. */
function statusOf(devices: readonly InverterDevice[], count: number, statistics: Statistics): string {
  const [only] = devices;
  if (count === 1 && only?.reading) return readingLine(only, statistics);
  const connected = devices.filter((device) => device.isConnected).length;
  const latency = [0.5, 0.99].map((quantile) => statistics.latencyMs(quantile)?.toFixed(0) ?? '–').join('/');
  return (
    `${connected}/${count} connected · ${statistics.sent} sent · ${statistics.acknowledgedCount} acknowledged` +
    ` (p50/p99 ${latency} ms) · ${statistics.unacknowledged} unacknowledged · ${statistics.commands} commands`
  );
}

function readingLine(device: InverterDevice, statistics: Statistics): string {
  const { reading } = device;
  if (!reading) return 'no measurement yet';
  const { flows, state } = reading;
  const hour = Math.floor(reading.hourOfDay);
  const minute = Math.floor((reading.hourOfDay % 1) * 60);
  const time = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
  const alerts = device.raisedAlerts.length > 0 ? ` · ${device.raisedAlerts.join(', ')}` : '';
  return (
    `${device.isConnected ? '●' : '○'} ${time} · ${reading.socPercent.toFixed(1)} % · pv ${watts(flows.pvW)}` +
    ` battery ${watts(flows.batteryW)} grid ${watts(flows.gridW)} load ${watts(flows.loadW)}` +
    ` · ${state.battery.temperatureC.toFixed(1)} °C · ${statistics.acknowledgedCount}/${statistics.sent} acknowledged` +
    alerts
  );
}

/** Whole watts; none is 0, not -0. */
function watts(powerW: number): string {
  return `${Math.round(powerW) + 0} W`;
}

function clockTime(clock: Clock): string {
  return new Date(clock.wallMs()).toTimeString().slice(0, 8);
}

function untilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
