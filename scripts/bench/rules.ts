/**
 * Rules on the whole gateway, a process of its own with its sandbox: how long from a device's telemetry to the
 * command that a rule sends to another device, while all devices of a site tell theirs; and what the sandbox
 * holds with many rules of realistic size.
 */
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { type DeviceLink, LinkLost, openDeviceLink } from '../support/device-link.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  inParallel,
  provisionDevice,
} from '../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  hasBundle,
  processorMs,
  programOf,
  anonymousBytes,
  startGateway,
} from '../support/gateway-process.ts';
import { quantile } from '../support/http-load.ts';
import { createRule, removeRule, waitForRule, waitUntil } from '../support/rule-calls.ts';
import { createRandom } from '../support/random.ts';
import { reactingRule, realisticRule, type Reaction } from '../support/rule-scripts.ts';

export interface RulesParameters {
  /** Devices of the site that send 20 values each, once a second. */
  devices: number;
  reactions: number;
  /** Rules in the sandbox when its memory is measured. */
  rules: number;
  settleS: number;
}

/** What a rule may send in the long run is 10 commands a second; this stays below, and in step with nothing. */
const REACTION_PAUSE_MS = { min: 120, max: 220 };
const SEED = 1;
/** How the script learns of a new value. */
const REACTIONS: readonly [reaction: Reaction, label: string][] = [
  ['on_update', 'on_update'],
  ['loop', 'a loop that looks every 10 ms'],
  ['scheduler', 'a function every 50 ms'],
];
const WARM_UP_MS = 500;
const WARM_UP_TIMES = 5;
const START_TURNS = 120;
const REACTION_LIMIT_MS = 10_000;
const PROVISIONED_AT_ONCE = 8;
const MEGABYTE = 1_000_000;
const ATTRIBUTES = [
  'ac_total_power',
  'ac_frequency',
  'ac_l1_voltage',
  'ac_l1_current',
  'ac_l1_power',
  'pv_total_power',
  'pv_energy_lifetime',
  'grid_total_power',
  'grid_energy_in_lifetime',
  'grid_energy_out_lifetime',
  'load_total_power',
  'battery_energy_in_lifetime',
  'battery_energy_out_lifetime',
  'charge_limit_w',
  'internal_fan_speed',
  'battery_soc',
  'battery_voltage',
  'battery_current',
  'battery_power',
  'battery_temperature',
];

export const benchmark: Benchmark<RulesParameters> = {
  name: 'rules',
  describe: 'from telemetry to the command of a rule at a busy site; memory of many rules',
  small: { devices: 3, reactions: 3, rules: 3, settleS: 1 },
  large: { devices: 50, reactions: 200, rules: 200, settleS: 25 },
  isApart: true,
  seed: SEED,
  run: runRulesBenchmark,
};

async function runRulesBenchmark(parameters: RulesParameters, report: Report): Promise<undefined> {
  const clock = createSystemClock();
  const made = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  const environment = { ...made.environment, GATEWAY_BUILT_IN_MODULE: 'false' };
  const home: GatewayHome = { ...made, environment };
  const gateway = startGateway(home, clock);
  const links: Device[] = [];
  try {
    await gateway.healthy();
    const tokens = await createTokens(home, 'OWNER', 1);
    const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
    const names = Array.from(
      { length: Math.max(3, parameters.devices) },
      (_, index) => `Device ${index + 1}`,
    );
    const blueprintId = await batteryInverterBlueprint(client);
    links.push(
      ...(await inParallel(names, PROVISIONED_AT_ONCE, (name) => connect(client, name, blueprintId, clock))),
    );
    await waitUntil(clock, 'all devices are connected', () => links.every(({ link }) => link.isConnected));
    // Every device has sent all its values once before the load begins.
    await Promise.all(links.map(({ link }) => link.publish('telemetry', valuesOf(0))));
    const load = clock.setRepeating(1_000 / links.length, createLoad(links));
    try {
      report('load', links.length * ATTRIBUTES.length, 'values/s');
      const measuring = { client, clock, links, report, count: parameters.reactions };
      const roundTripMs = await measureRoundTrip(measuring);
      for (const [reaction, label] of REACTIONS) {
        const medianMs = await measureReaction(reaction, label, measuring);
        report(`${label}, times a round trip (median)`, medianMs / roundTripMs);
      }
      await measureMemory(gateway.pid, { client, clock, links, ...parameters, report });
    } finally {
      load.cancel();
    }
  } finally {
    for (const { link } of links) await link.close(0);
    await gateway.end('SIGTERM');
    made.remove();
    clock.close();
  }
}

interface Device {
  slug: string;
  link: DeviceLink;
  onCommand: (limitW: number) => void;
}

async function connect(
  client: GatewayClient,
  name: string,
  blueprintId: string,
  clock: Clock,
): Promise<Device> {
  const { id, slug, config } = await provisionDevice(client, name);
  await assignBlueprint(client, id, blueprintId);
  const link = openDeviceLink({
    config,
    clock,
    qos: 1,
    reconnectDelayMs: 1_000,
    onConnected: () => undefined,
    onLost: () => undefined,
    onUnreadable: () => undefined,
    onCommand: (request) => {
      device.onCommand(Number(request.arguments['limit_w']));
      tell(link.publish('commandResponse', { id: request.id, state: 'completed', payload: {} }));
    },
  });
  const device: Device = { slug, link, onCommand: () => undefined };
  return device;
}

/** Acknowledgements are not waited for; a lost connection would show as a missing reaction. */
function tell(published: Promise<void>): void {
  published.catch((error: unknown) => {
    if (!(error instanceof LinkLost)) throw error;
  });
}

function valuesOf(turn: number): Record<string, number> {
  return Object.fromEntries(ATTRIBUTES.map((name, place) => [name, (turn * (place + 3)) % 97]));
}

/** One device after another; all within a second. The reactions show the charge of the first one. */
function createLoad(links: readonly Device[]): () => void {
  let turn = 0;
  return () => {
    const index = turn++ % links.length;
    const values = valuesOf(turn);
    if (index === 0) delete values['battery_soc'];
    const device = links[index];
    if (device) tell(device.link.publish('telemetry', values));
  };
}

interface Measuring {
  client: GatewayClient;
  clock: Clock;
  links: readonly Device[];
  report: Report;
}

type MeasuringTimes = Measuring & { count: number };

/** The bare way to the gateway and back: a message of which nothing is stored, until it is acknowledged. */
async function measureRoundTrip({ clock, links, count, report }: MeasuringTimes): Promise<number> {
  const [device] = links;
  if (!device) throw new Error('a device is needed');
  const takenMs = await inTurn(clock, count, () =>
    withinLimit(clock, async (done) => {
      await device.link.publish('configurationRead', {});
      done();
    }),
  );
  return reportTimes('MQTT round trip without a rule', takenMs, report);
}

async function measureReaction(
  reaction: Reaction,
  label: string,
  { client, clock, links, count, report }: MeasuringTimes,
): Promise<number> {
  const [first, second, third] = links;
  if (!first || !second || !third) throw new Error('three devices are needed');
  const slug = `reaction-${reaction.replace('_', '-')}`;
  await createRule(client, slug, reactingRule(reaction, [first.slug, second.slug, third.slug]));
  await waitForRule(client, clock, slug);
  await untilItReacts(first, third, clock);
  const takenMs = await inTurn(clock, count, (number) => react(first, third, 10 + (number % 80), clock));
  await removeRule(client, slug);
  return reportTimes(label, takenMs, report);
}

/** A rule that is started still has to ask for its watch, and gets no value from before. */
async function untilItReacts(from: Device, to: Device, clock: Clock): Promise<void> {
  const { promise: reacted, resolve } = Promise.withResolvers<true>();
  to.onCommand = () => resolve(true);
  for (let turn = 0; turn < START_TURNS; turn++) {
    tell(from.link.publish('telemetry', { battery_soc: turn % 2 }));
    if (await Promise.race([reacted, clock.sleep(WARM_UP_MS)])) return;
  }
  throw new Error('the rule does not react');
}

/** Times in ms, sorted; the first few, which make everything that is made once, are left out. */
async function inTurn(
  clock: Clock,
  count: number,
  work: (number: number) => Promise<number>,
): Promise<number[]> {
  const random = createRandom(SEED);
  const takenMs: number[] = [];
  for (let number = 0; number < count + WARM_UP_TIMES; number++) {
    const tookMs = await work(number);
    if (number >= WARM_UP_TIMES) takenMs.push(tookMs);
    await clock.sleep(random.between(REACTION_PAUSE_MS.min, REACTION_PAUSE_MS.max));
  }
  return takenMs.sort((a, b) => a - b);
}

/** The median. */
function reportTimes(label: string, takenMs: readonly number[], report: Report): number {
  const medianMs = quantile(takenMs, 0.5);
  report(`${label}, median`, medianMs, 'ms');
  report(`${label}, p99`, quantile(takenMs, 0.99), 'ms');
  report(`${label}, slowest`, takenMs.at(-1) ?? Number.NaN, 'ms');
  return medianMs;
}

/** From the moment the telemetry is published to the moment the command is there. */
function react(from: Device, to: Device, socPercent: number, clock: Clock): Promise<number> {
  return withinLimit(clock, (done) => {
    to.onCommand = (limitW) => {
      if (limitW === socPercent) done();
    };
    tell(from.link.publish('telemetry', { battery_soc: socPercent }));
  });
}

/** How long it takes until `done` is called. */
function withinLimit(clock: Clock, begin: (done: () => void) => void | Promise<void>): Promise<number> {
  return new Promise((resolve, reject) => {
    const startedMs = clock.monotonicMs();
    const timer = clock.setTimer(REACTION_LIMIT_MS, () => reject(new Error('nothing came back')));
    const done = (): void => {
      timer.cancel();
      resolve(clock.monotonicMs() - startedMs);
    };
    Promise.resolve(begin(done)).catch(reject);
  });
}

async function measureMemory(
  gatewayPid: number,
  { client, clock, links, rules, settleS, report }: Measuring & RulesParameters,
): Promise<void> {
  const pid = programOf(gatewayPid, 'rule-sandbox');
  const slugs = links.map(({ slug }) => slug);
  await inParallel(Array.from({ length: rules }), 4, (_, index) =>
    createRule(client, `realistic-${index}`, realisticRule(index, slugs)),
  );
  await waitForRule(client, clock, `realistic-${rules - 1}`);
  const processorStartMs = processorMs(pid);
  const startedMs = clock.monotonicMs();
  const bytes: number[] = [];
  for (let second = 0; second < settleS; second++) {
    await clock.sleep(1_000);
    bytes.push(anonymousBytes(pid));
  }
  const share = (processorMs(pid) - processorStartMs) / (clock.monotonicMs() - startedMs);
  report(`sandbox with ${rules} rules, largest anonymous memory`, Math.max(...bytes) / MEGABYTE, 'MB');
  report(`sandbox with ${rules} rules, each once a second, of one processor`, share * 100, '%');
}
