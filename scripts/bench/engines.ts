/**
 * The whole gateway beside VictoriaMetrics and InfluxDB, whichever of them is installed: a day of the same values up to now,
 * the same charts, none asked for twice. The gateway takes them over MQTT at QoS 1 and synced, the others in batches over HTTP.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import { createTokens, NO_RATE_LIMITS, processorMs, withGateway } from '../support/gateway-process.ts';
import { quantile } from '../support/http-load.ts';
import {
  bytesBelow,
  type ChartQuestion,
  type Engine,
  ENGINES,
  type NamedSeries,
  startEngine,
} from '../support/other-engines.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import { openBenchStore } from '../support/telemetry-store.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload, measuredNames, type NumberForm, type WorkloadDevice } from '../support/workload.ts';

const SEED = 1;
/** Messages of a device on the way: so many that a commit is never waited for. */
const WINDOW = 200;
/** Until a program is done with what it was sent. */
const SETTLE_MS = 5_000;

interface Parameters {
  devices: number;
  /** Stored of each device, up to now. */
  seconds: number;
  /** Charts of each kind. */
  repeats: number;
  /** 1: W32, with numbers as devices with 32-bit numbers send them. */
  single: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'engines',
  describe:
    'A day of workload W in the whole gateway, VictoriaMetrics and InfluxDB, where they are installed.',
  small: { devices: 2, seconds: 120, repeats: 1, single: 0 },
  large: { devices: 50, seconds: 86_400, repeats: 20, single: 0 },
  isApart: true,
  seed: SEED,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    const run = { ...parameters, clock, endS: Math.floor(clock.wallMs() / 1_000) };
    try {
      await measureGateway(run, (label, value, unit) => report(`gateway: ${label}`, value, unit));
      await inFolder((folder) => measureFile(folder, run, report));
      for (const engine of ENGINES)
        await inFolder((folder) =>
          measureOther(engine, folder, run, (label, value, unit) =>
            report(`${engine.name}: ${label}`, value, unit),
          ),
        );
    } finally {
      clock.close();
    }
    return undefined;
  },
};

interface Run extends Pick<Parameters, 'devices' | 'seconds' | 'repeats' | 'single'> {
  clock: Clock;
  endS: number;
}

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-engines-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const formOf = ({ single }: Run): NumberForm => (single > 0 ? 'single' : 'decimal');

async function measureGateway(run: Run, report: Report): Promise<void> {
  const { clock, devices, seconds, endS } = run;
  await withGateway({ clock, environment: NO_RATE_LIMITS }, async (home, { pid }) => {
    const tokens = await createTokens(home, 'OWNER', 1);
    const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
    const workload = createWorkload({ seed: SEED, devices });
    const logins = await provisionWorkload(client, workload, (zip) =>
      uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
    );
    const load = { port: home.mqttPort, logins, seed: SEED, numbers: formOf(run), devices, seconds };
    let usedMs = 0;
    const { values, elapsedMs } = await publish(
      { ...load, startS: endS - seconds, window: WINDOW, paceMs: 0 },
      () => (usedMs = processorMs(pid)),
    );
    await clock.sleep(SETTLE_MS);
    reportIntake({ values, tookMs: elapsedMs, usedMs: processorMs(pid) - usedMs }, report);
    const timed = async (work: () => Promise<unknown>): Promise<number> => {
      const startedMs = clock.monotonicMs();
      await work();
      return clock.monotonicMs() - startedMs;
    };
    await askAll(run, workload.devices, report, {
      chart: ({ series, fromS, toS, stepS }) => {
        const telemetry = series.map(({ device, attribute }) => ({ device, attribute: [attribute] }));
        const body = { from: fromS, to: toS, granularity: `${stepS}s`, aggregation: 'avg', telemetry };
        const path = '/telemetry/query_timeseries';
        return timed(() => client.text({ method: 'POST', path, accept: 'text/csv', body }));
      },
      latest: (device) => timed(() => client.json({ path: `/devices/${device}/telemetry` })),
    });
  });
}

/** The file of the store once the day is over and sealed, which takes hours in a running gateway. */
async function measureFile(folder: string, run: Run, report: Report): Promise<void> {
  const store = await openBenchStore(folder);
  const workload = createWorkload({ seed: SEED, devices: run.devices, numbers: formOf(run) });
  const { values } = await store.replay(workload, run.seconds, 1, false);
  const { usedBytes } = await store.replay(workload, 0, 1);
  report('gateway: pages in use once the day is over', usedBytes / values, 'bytes/value');
  await store.close();
}

async function measureOther(engine: Engine, folder: string, run: Run, report: Report): Promise<void> {
  const { devices, seconds, endS } = run;
  const running = await startEngine(engine, folder);
  if (!running) {
    report(`${engine.command} is not installed or does not start`, 'missing');
    return;
  }
  const startS = endS - seconds;
  const workload = createWorkload({ seed: SEED, devices, numbers: formOf(run), startS });
  try {
    const filled = await running.fill(workload, seconds);
    await run.clock.sleep(SETTLE_MS);
    reportIntake(filled, report);
    await askAll(run, workload.devices, report, {
      chart: (question) => running.ask(engine.chart(question)),
      latest: (device) => running.ask(engine.latest(device)),
    });
    await running.settle();
    await running.end();
    report('on disk', bytesBelow(folder) / filled.values, 'bytes/value');
  } finally {
    await running.end();
  }
}

function reportIntake(intake: { values: number; tookMs: number; usedMs: number }, report: Report): void {
  const { values, tookMs, usedMs } = intake;
  report('taken in', (values / tookMs) * 1_000, 'values/s');
  report('processor time', (usedMs / values) * 1_000, 's/million');
}

/** Milliseconds of one question. */
interface Asked {
  chart: (question: ChartQuestion) => Promise<number>;
  latest: (device: string) => Promise<number>;
}

async function askAll(
  { seconds, repeats, endS }: Run,
  devices: readonly WorkloadDevice[],
  report: Report,
  asked: Asked,
): Promise<void> {
  const series = devices.flatMap(measuredBy);
  const period = { fromS: endS - seconds, toS: endS };
  let taken = 0;
  const charts = async (label: string, count: number, stepS: number): Promise<void> => {
    const tookMs: number[] = [];
    for (let round = 0; round < repeats; round++) {
      const some = series.slice(taken, (taken += count));
      if (some.length < count) throw new Error('there are too few series for so many charts');
      tookMs.push(await asked.chart({ ...period, stepS, series: some }));
    }
    report(label, medianOf(tookMs), 'ms');
  };
  await charts('one series of the day by 1 min, median', 1, 60);
  await charts('ten series of the day by 1 min, median', 10, 60);
  await charts('one series of the day by 1 s, median', 1, 1);
  const latestMs: number[] = [];
  for (let round = 0; round < repeats; round++)
    latestMs.push(await asked.latest(`device-${devices[round % devices.length]?.index ?? 0}`));
  report('latest values of a device, median', medianOf(latestMs), 'ms');
}

const measuredBy = (device: WorkloadDevice): NamedSeries[] =>
  measuredNames(device).map((attribute) => ({ device: `device-${device.index}`, attribute }));

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return quantile(sorted, 0.5);
}
