/** A gateway of its own under attack, measured clients beside, and what became of them. */
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Clock } from '../../src/platform/clock/index.ts';
import type { DeviceActor } from '../crash-check/device-actor.ts';
import type { Verdict } from '../crash-check/verify.ts';
import { populate } from '../crash-check/world.ts';
import { type GatewayClient, provisionDevice } from '../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  residentBytes,
  startGateway,
} from '../support/gateway-process.ts';
import { createRandom } from '../support/random.ts';
import type { Attack, AttackCounts } from './attack-parameters.ts';
import { startClients } from './clients.ts';
import { createLatencies, type Latencies } from './latencies.ts';
import type { Insider } from './mqtt-garbage.ts';

export interface SoakOptions {
  seed: number;
  /** Hostile MQTT sequences of the first part. */
  sequences: number;
  /** Length of the second part, mixed garbage. */
  mixedMs: number;
  devices: number;
  program: 'source' | 'bundle';
  clock: Clock;
  say: (line: string) => void;
}

export interface SoakReport {
  /** Crashes, failures in the log, things that measured clients should not see. Empty: all is well. */
  problems: string[];
  attacks: AttackCounts;
  /** What was acknowledged, read back. */
  kept: Verdict;
  memoryBytes: { before: number; largest: number; after: number };
  httpMs: Quantiles;
  pingMs: Quantiles;
  telemetryMs: Quantiles;
  streamed: number;
}

export interface Quantiles {
  count: number;
  median: number | undefined;
  p99: number | undefined;
  largest: number | undefined;
}

/** Other machines on the network, as far as limits per address can tell. */
const ATTACKER_ADDRESSES = Array.from({ length: 8 }, (_, index) => `127.0.0.${66 + index}`);
const ATTACK_WIDTH = 32;
const INSIDERS = 4;
const ATTRIBUTES = 20;
const CONNECT_TIMEOUT_MS = 30_000;
const MEMORY_INTERVAL_MS = 250;
/** A line about memory is printed so often. */
const PROGRESS_INTERVAL_MS = 60_000;
const CALM_MS = 2_000;

export async function soak(options: SoakOptions): Promise<SoakReport> {
  const { clock, say } = options;
  const home = await createGatewayHome(options.program);
  const gateway = startGateway(home, clock);
  try {
    await gateway.healthy();
    const report = await underAttack(options, home, gateway);
    const exit = await gateway.end('SIGTERM');
    if (exit.code !== 0) report.problems.push(`ended with ${exit.code ?? exit.signal} at its stop`);
    report.problems.push(...failuresOf(home));
    return report;
  } finally {
    await gateway.end('SIGKILL');
    home.remove();
    say('');
  }
}

async function underAttack(
  options: SoakOptions,
  home: GatewayHome,
  gateway: GatewayProcess,
): Promise<SoakReport> {
  const { clock, say, seed, devices } = options;
  const telemetry = createLatencies();
  const world = await populate({
    home,
    devices,
    attributes: ATTRIBUTES,
    clock,
    random: createRandom(seed),
    run: () => 1,
    say,
    onLatency: (latencyMs) => telemetry.add(latencyMs),
  });
  const [token = '', attackToken = ''] = await createTokens(home, 'OWNER', 2);
  const [pinging, ...insiders] = await provisionLogins(world.client, INSIDERS + 1);
  if (!pinging) throw new Error('no device was provisioned');
  await allConnected(world.actors, clock);
  const { baseUrl, httpsPort, mqttPort, mqttsPort } = home;
  const { startedAtMs } = gateway;
  const clients = startClients({ world, baseUrl, token, mqttPort, pinging, clock, seed, startedAtMs });
  const memory = watchMemory(gateway, clock, say);
  const attack: Omit<Attack, 'sequences'> = {
    seed,
    durationMs: options.mixedMs,
    width: ATTACK_WIDTH,
    ports: { http: Number(new URL(baseUrl).port), https: httpsPort, mqtt: mqttPort, mqtts: mqttsPort },
    insiders,
    token: attackToken,
    localAddresses: ATTACKER_ADDRESSES,
  };
  await clock.sleep(CALM_MS);
  const before = memory.now();
  say(`${options.sequences} hostile MQTT sequences …`);
  const first = await run({ ...attack, sequences: options.sequences });
  say(`${options.mixedMs / 1_000} s of everything mixed …`);
  const second = await run({ ...attack, seed: seed + 1, sequences: undefined });
  await clock.sleep(CALM_MS);
  const problems = gateway.hasExited ? ['the gateway crashed'] : [];
  const memoryBytes = { before, largest: memory.largest(), after: memory.now() };
  memory.stop();
  await clients.stop();
  for (const [problem, count] of clients.problems) problems.push(`${problem} (${count} times)`);
  const { http, ping, streamed } = clients;
  if (streamed === 0) problems.push('the stream carried nothing');
  const kept = await clients.verify();
  problems.push(...kept.problems.map(({ kind, item }) => `${kind}: ${item}`));
  await Promise.all(world.actors.map((actor) => actor.stop()));
  return {
    problems,
    attacks: sumOf(first, second),
    kept,
    memoryBytes,
    httpMs: quantilesOf(http),
    pingMs: quantilesOf(ping),
    telemetryMs: quantilesOf(telemetry),
    streamed,
  };
}

async function allConnected(actors: readonly DeviceActor[], clock: Clock): Promise<void> {
  const deadlineMs = clock.monotonicMs() + CONNECT_TIMEOUT_MS;
  while (!actors.every(({ isConnected }) => isConnected)) {
    if (clock.monotonicMs() > deadlineMs) throw new Error('the devices could not connect');
    await clock.sleep(20);
  }
}

/** Devices without a simulation, by their credentials. */
async function provisionLogins(client: GatewayClient, count: number): Promise<Insider[]> {
  const logins = [];
  for (let index = 0; index < count; index += 1) {
    const { config } = await provisionDevice(client, `Login ${index}`);
    if (config.credentials.protocol === 'MQTT') logins.push(config.credentials);
  }
  return logins;
}

function run(attack: Attack): Promise<AttackCounts> {
  const worker = new Worker(new URL('attack.ts', import.meta.url), { workerData: attack });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

function watchMemory(gateway: GatewayProcess, clock: Clock, say: SoakOptions['say']) {
  const now = (): number => (gateway.hasExited ? 0 : residentBytes(gateway.pid));
  let largest = now();
  const timers = [
    clock.setRepeating(MEMORY_INTERVAL_MS, () => (largest = Math.max(largest, now()))),
    clock.setRepeating(PROGRESS_INTERVAL_MS, () =>
      say(`  memory ${(now() / 1e6).toFixed(0)} MB, ${(largest / 1e6).toFixed(0)} MB at most so far`),
    ),
  ];
  return { now, largest: () => largest, stop: () => timers.forEach((timer) => timer.cancel()) };
}

function quantilesOf(latencies: Latencies): Quantiles {
  return {
    count: latencies.count,
    median: latencies.quantileMs(0.5),
    p99: latencies.quantileMs(0.99),
    largest: latencies.quantileMs(1),
  };
}

function sumOf(a: AttackCounts, b: AttackCounts): AttackCounts {
  return { mqtt: a.mqtt + b.mqtt, http: a.http + b.http, tls: a.tls + b.tls, idle: a.idle + b.idle };
}

/** Lines of level error in the log: nothing that strangers send may be a failure of ours. */
function failuresOf({ logFile }: GatewayHome): string[] {
  const counts = new Map<string, number>();
  for (const line of readFileSync(logFile, 'utf8').split('\n')) {
    const entry = entryOf(line);
    if (!entry && line !== '') counts.set(`in its log, no entry: ${line.slice(0, 200)}`, 1);
    if (entry?.level !== 'error') continue;
    const text = `in its log: ${String(entry.message)} ${JSON.stringify(entry.error)?.slice(0, 300) ?? ''}`;
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return [...counts].map(([text, count]) => `${text} (${count} times)`);
}

function entryOf(line: string): { level?: unknown; message?: unknown; error?: unknown } | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
