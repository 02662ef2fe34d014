/**
 * Devices that all come back at once: after a restart of the gateway, and as a storm of connections beside those
 * that stay. Once over TCP and once over TLS, each on a gateway of its own. Runs the bundle when `npm run build`
 * has made one.
 */
import { relative } from 'node:path';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, inParallel, provisionDevice } from '../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  hasBundle,
  anonymousBytes,
  startGateway,
} from '../support/gateway-process.ts';
import { type CrowdMember, crowdOf, type CrowdSession, join } from '../support/mqtt-crowd.ts';
import { createLatencies } from '../support/latencies.ts';

const MEBIBYTE = 1_048_576;
const MEMORY_INTERVAL_MS = 50;
const TOKENS = 8;
const PROVISIONED_AT_ONCE = 8;
/** How long a session of the storm stays. */
const STAY_MS = 500;

interface Parameters {
  clients: number;
  /** Pause of a client between two attempts. */
  retryMs: number;
  connectsPerSecond: number;
  stormSeconds: number;
  /** Before memory counts as steady. */
  calmMs: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'reconnect',
  describe: 'All devices reconnect after a restart, then a storm of connections: time, refusals, memory.',
  small: { clients: 10, retryMs: 200, connectsPerSecond: 20, stormSeconds: 1, calmMs: 100 },
  large: { clients: 1_000, retryMs: 1_000, connectsPerSecond: 100, stormSeconds: 30, calmMs: 5_000 },
  isApart: true,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    try {
      for (const protocol of ['MQTT', 'MQTTS'] as const) await measure(protocol, parameters, clock, report);
    } finally {
      clock.close();
    }
    return undefined;
  },
};

interface Run {
  protocol: 'MQTT' | 'MQTTS';
  parameters: Parameters;
  clock: Clock;
  report: Report;
}

async function measure(
  protocol: Run['protocol'],
  parameters: Parameters,
  clock: Clock,
  report: Report,
): Promise<void> {
  const run = { protocol, parameters, clock, report };
  const home = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  let gateway = startGateway(home, clock);
  try {
    await gateway.healthy();
    report(`${protocol}: program`, relative('.', home.entries.main));
    const crowd = await provision(run, home);
    await Promise.all(crowd.map((member) => keepTrying(run, member)));
    await gateway.end('SIGTERM');
    gateway = startGateway(home, clock);
    const memory = watchMemory(gateway, clock);
    const sessions = await comeBack(run, crowd);
    await clock.sleep(parameters.calmMs);
    const reconnectedBytes = memory.largest();
    const steadyBytes = anonymousBytes(gateway.pid);
    await storm(run, crowd);
    const lost = sessions.filter(({ isOpen }) => !isOpen).length;
    memory.stop();
    for (const session of sessions) session.leave();
    report(`${protocol}: sessions that were lost in the storm`, lost);
    report(`${protocol}: anonymous memory, steady`, steadyBytes / MEBIBYTE, 'MiB');
    report(`${protocol}: anonymous memory, largest while they reconnect`, reconnectedBytes / MEBIBYTE, 'MiB');
    report(`${protocol}: anonymous memory, largest`, memory.largest() / MEBIBYTE, 'MiB');
    report(`${protocol}: largest to steady`, memory.largest() / steadyBytes, 'times');
  } finally {
    await gateway.end('SIGTERM');
    home.remove();
  }
}

async function provision(
  { protocol, parameters, clock }: Run,
  home: GatewayHome,
): Promise<readonly CrowdMember[]> {
  const tokens = await createTokens(home, 'OWNER', TOKENS);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
  const numbers = Array.from({ length: parameters.clients }, (_, index) => index);
  const devices = await inParallel(numbers, PROVISIONED_AT_ONCE, (index) =>
    provisionDevice(client, `Device ${index}`, protocol),
  );
  return crowdOf(devices.map(({ config }) => config));
}

/** From the start of the process until every device is connected and subscribed. */
async function comeBack(
  { protocol, parameters, clock, report }: Run,
  crowd: readonly CrowdMember[],
): Promise<CrowdSession[]> {
  const startMs = clock.monotonicMs();
  let firstMs = Infinity;
  const run = { protocol, parameters, clock, report };
  const sessions = await Promise.all(
    crowd.map(async (member, index) => {
      // Spread as their clocks are.
      await clock.sleep((index * parameters.retryMs) / crowd.length);
      const session = await keepTrying(run, member);
      firstMs = Math.min(firstMs, clock.monotonicMs());
      return session;
    }),
  );
  const lastMs = clock.monotonicMs();
  report(`${protocol}: all connected after the start of the process`, (lastMs - startMs) / 1_000, 's');
  report(`${protocol}: all connected after the first of them`, (lastMs - firstMs) / 1_000, 's');
  return sessions;
}

async function keepTrying({ parameters, clock }: Run, member: CrowdMember): Promise<CrowdSession> {
  for (;;) {
    try {
      return await join(member, clock);
    } catch (error) {
      if (!(error instanceof Error) || error.message !== 'closed') throw error;
      await clock.sleep(parameters.retryMs);
    }
  }
}

/** Further sessions of known devices at a steady rate; each comes, subscribes, and leaves. */
async function storm({ protocol, parameters, clock, report }: Run, crowd: readonly CrowdMember[]) {
  const { connectsPerSecond, stormSeconds } = parameters;
  const latencies = createLatencies();
  let refused = 0;
  const visit = async (member: CrowdMember): Promise<void> => {
    const sentMs = clock.monotonicMs();
    try {
      const session = await join(member, clock);
      latencies.add(clock.monotonicMs() - sentMs);
      await clock.sleep(STAY_MS);
      session.leave();
      await session.closed;
    } catch (error) {
      if (!(error instanceof Error)) throw error;
      refused += 1;
    }
  };
  const startMs = clock.monotonicMs();
  const visits: Promise<void>[] = [];
  for (let index = 0; index < connectsPerSecond * stormSeconds; index += 1) {
    await clock.sleep(Math.max(0, startMs + (index * 1_000) / connectsPerSecond - clock.monotonicMs()));
    const member = crowd[index % crowd.length];
    if (member) visits.push(visit(member));
  }
  const elapsedMs = clock.monotonicMs() - startMs;
  await Promise.all(visits);
  report(`${protocol}: storm`, visits.length / (elapsedMs / 1_000), 'connects/s');
  report(`${protocol}: refused in the storm`, refused);
  report(`${protocol}: connect to subscribed, median`, latencies.quantileMs(0.5) ?? 0, 'ms');
  report(`${protocol}: connect to subscribed, 99 %`, latencies.quantileMs(0.99) ?? 0, 'ms');
}

function watchMemory(gateway: GatewayProcess, clock: Clock) {
  let largest = 0;
  const timer = clock.setRepeating(MEMORY_INTERVAL_MS, () => {
    largest = Math.max(largest, anonymousBytes(gateway.pid));
  });
  return { largest: () => largest, stop: () => timer.cancel() };
}
