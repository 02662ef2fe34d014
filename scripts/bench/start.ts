/**
 * How long the gateway takes from process start to its first good answer of /healthz, and how much memory it
 * holds while idle with one device. Runs the production bundle when `npm run build` has made one.
 */
import { relative } from 'node:path';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import { startInverterDevice } from '../simulate/inverter-device.ts';
import { createStatistics } from '../simulate/statistics.ts';
import {
  createGatewayHome,
  createTokens,
  type GatewayHome,
  hasBundle,
  anonymousBytes,
  startGateway,
} from '../support/gateway-process.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  provisionDevice,
} from '../support/gateway-client.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createRandom } from '../support/random.ts';

export interface StartParameters {
  /** Starts on a database that exists; the very first one, which makes it, is reported apart. */
  starts: number;
  /** With one device connected that sends telemetry once a second. */
  idleS: number;
}

const SEED = 1;
const MEBIBYTE = 1_048_576;

export const benchmark: Benchmark<StartParameters> = {
  name: 'start',
  describe: 'time from process start to /healthz, anonymous memory while idle with one device at 1 Hz',
  small: { starts: 2, idleS: 3 },
  large: { starts: 10, idleS: 120 },
  isApart: true,
  seed: SEED,
  run: runStartBenchmark,
};

async function runStartBenchmark(parameters: StartParameters, report: Report): Promise<undefined> {
  const clock = createSystemClock();
  const home = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  try {
    report('program', relative('.', home.entries.main));
    report('start, first', await timedStart(home, clock), 'ms');
    const startsMs: number[] = [];
    for (let count = 0; count < parameters.starts; count += 1) startsMs.push(await timedStart(home, clock));
    startsMs.sort((a, b) => a - b);
    report('start, median', startsMs[Math.floor(startsMs.length / 2)] ?? Number.NaN, 'ms');
    report('start, slowest', startsMs.at(-1) ?? Number.NaN, 'ms');
    await measureIdle(home, clock, parameters.idleS, report);
  } finally {
    home.remove();
    clock.close();
  }
}

async function timedStart(home: GatewayHome, clock: Clock): Promise<number> {
  const gateway = startGateway(home, clock);
  try {
    return await gateway.healthy();
  } finally {
    await gateway.end('SIGTERM');
  }
}

async function measureIdle(home: GatewayHome, clock: Clock, idleS: number, report: Report): Promise<void> {
  const gateway = startGateway(home, clock);
  try {
    await gateway.healthy();
    const client = createGatewayClient({
      baseUrl: home.baseUrl,
      tokens: await createTokens(home, 'OWNER', 1),
      clock,
    });
    const provisioned = await provisionDevice(client, 'Battery inverter');
    await assignBlueprint(client, provisioned.id, await batteryInverterBlueprint(client));
    const statistics = createStatistics();
    const device = startInverterDevice({
      config: provisioned.config,
      clock,
      random: createRandom(SEED),
      qos: 1,
      intervalMs: 1_000,
      phaseMs: 0,
      timeScale: 1,
      hourOfDay: 12,
      socPercent: 50,
      mishapsPerDay: 0,
      statistics,
      say: () => undefined,
    });
    try {
      const bytes: number[] = [];
      for (let second = 0; second < idleS; second += 1) {
        await clock.sleep(1_000);
        bytes.push(anonymousBytes(gateway.pid));
      }
      report('idle time', idleS, 's');
      report('anonymous memory, at the end', (bytes.at(-1) ?? Number.NaN) / MEBIBYTE, 'MiB');
      report('anonymous memory, largest', Math.max(...bytes) / MEBIBYTE, 'MiB');
      report('acknowledged messages', statistics.acknowledgedCount);
      report('acknowledgement, median', statistics.latencyMs(0.5) ?? Number.NaN, 'ms');
    } finally {
      await device.stop();
    }
  } finally {
    await gateway.end('SIGTERM');
  }
}
