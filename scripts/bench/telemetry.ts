/**
 * The telemetry store under workload W (50 devices with 20 attributes each at 1 Hz): how fast it takes values
 * in, how much it writes and keeps, how fast it answers.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { type BenchStore, openBenchStore } from '../support/telemetry-store.ts';
import { createWorkload, type NumberForm } from '../support/workload.ts';

const SEED = 1;
const DAY_S = 86_400;

interface Parameters {
  /** Replay for sizes and speed. */
  devices: number;
  seconds: number;
  /** Days stored of the first five devices, for queries. */
  queryDays: number;
  /** How often each query is asked. */
  repeats: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'telemetry',
  describe: 'The telemetry store under 50 devices with 20 attributes at 1 Hz: speed, bytes, queries.',
  small: { devices: 2, seconds: 120, queryDays: 0.005, repeats: 2 },
  large: { devices: 50, seconds: DAY_S, queryDays: 30, repeats: 60 },
  seed: SEED,
  run: async (parameters, report) => {
    const hash = createHash('sha256');
    for (const numbers of ['decimal', 'single', 'noisy'] as const)
      await inFolder(async (folder) => hash.update(await measureIntake(folder, parameters, numbers, report)));
    await inFolder(async (folder) => hash.update(await measureQueries(folder, parameters, report)));
    await inFolder(async (folder) => hash.update(await measureToday(folder, parameters, report)));
    return hash.digest('hex').slice(0, 16);
  },
};

async function inFolder(work: (folder: string) => Promise<unknown>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-telemetry-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Numbers as JSON has them, as devices with 32-bit numbers send them, and those unrounded. */
const NAMES = { decimal: 'W', single: 'W32', noisy: 'W32 with noise' };

async function measureIntake(
  folder: string,
  parameters: Parameters,
  numbers: NumberForm,
  tell: Report,
): Promise<string> {
  const report: Report = (label, value, unit) => tell(`${NAMES[numbers]}: ${label}`, value, unit);
  const store = await openBenchStore(folder);
  const workload = createWorkload({ seed: SEED, devices: parameters.devices, numbers });
  const run = await store.replay(workload, parameters.seconds, 1);
  report('values stored', run.values, 'values');
  report(
    'taken in on one core: journal record, blocks, roll-ups',
    (run.values / run.busyMs) * 1_000,
    'values/s',
  );
  report('longest piece of work between two pauses', run.longestMs, 'ms');
  report('pages in use', run.usedBytes / run.values, 'bytes/value');
  report('file', run.fileBytes / run.values, 'bytes/value');
  report('journal records', run.journalBytes / run.values, 'bytes/value');
  report('written to disk, one sync a second', run.writtenBytes / run.values, 'bytes/value');
  report('memory of this process', process.memoryUsage().rss / 1_048_576, 'MiB');
  await store.close();
  return String(run.values);
}

async function measureQueries(folder: string, parameters: Parameters, report: Report): Promise<string> {
  const store = await openBenchStore(folder);
  const workload = createWorkload({ seed: SEED, devices: 5 });
  const fromS = workload.nowS + 1;
  const seconds = Math.round(parameters.queryDays * DAY_S);
  await store.replay(workload, seconds, 60);
  const ask = asker(
    { store, numbers: numberSeries(workload), fromS, toS: fromS + seconds },
    parameters,
    report,
  );
  const lengths = [
    ask('one series, 24 h by 1 min', 1, DAY_S, 60),
    ask('one series, 30 days by 1 h', 1, 30 * DAY_S, 3_600),
    ask('ten series, 30 days by 1 h', 10, 30 * DAY_S, 3_600),
    ask('one series, 30 days by 1 min', 1, 30 * DAY_S, 60),
    ask('ten series, 1 h by 1 s', 10, 3_600, 1),
  ];
  await store.close();
  return lengths.join(' ');
}

/** The day that is not over: parts and open samples, no block yet. */
async function measureToday(folder: string, parameters: Parameters, report: Report): Promise<string> {
  const store = await openBenchStore(folder);
  const workload = createWorkload({ seed: SEED, devices: 5 });
  const fromS = workload.nowS + 1;
  const seconds = Math.round(Math.min(parameters.queryDays, 0.95) * DAY_S);
  await store.replay(workload, seconds, 60, false);
  const ask = asker(
    { store, numbers: numberSeries(workload), fromS, toS: fromS + seconds },
    parameters,
    report,
  );
  const lengths = [
    ask('today, one series, 24 h by 1 min', 1, DAY_S, 60),
    ask('today, ten series, 24 h by 1 min', 10, DAY_S, 60),
    ask('today, one series, 24 h by 1 s', 1, DAY_S, 1),
  ];
  await store.close();
  return lengths.join(' ');
}

/** Asks for another series each time, so that nothing but the program is warm; returns the length of the first answer. */
function asker(
  { store, numbers, fromS, toS }: { store: BenchStore; numbers: number[]; fromS: number; toS: number },
  { repeats }: Parameters,
  report: Report,
): (label: string, series: number, spanS: number, granularityS: number) => number {
  return (label, series, spanS, granularityS) => {
    const answers = Array.from({ length: repeats }, (_, round) => {
      const ids = Array.from(
        { length: series },
        (__, index) => numbers[(round * series + index) % numbers.length] ?? 1,
      );
      return store.query(ids, Math.max(fromS, toS - spanS), toS, granularityS);
    });
    report(`${label}, first time`, answers[0]?.totalMs ?? 0, 'ms');
    report(`${label}, median`, median(answers.map((answer) => answer.totalMs)), 'ms');
    report(`${label}, slowest first piece`, Math.max(...answers.map((answer) => answer.firstMs)), 'ms');
    return answers[0]?.length ?? 0;
  };
}

function numberSeries(workload: ReturnType<typeof createWorkload>): number[] {
  return workload.devices.flatMap((device) =>
    device.signals.flatMap((signal, offset) =>
      signal.form === 'drift' || signal.form === 'power' ? [device.first + offset + 1] : [],
    ),
  );
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
