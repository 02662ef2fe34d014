/**
 * One step of the benchmark `growth`, a process of its own, so that no step leaves memory or warm code to the next. Tells
 * its parent the figures.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openBenchStore } from './telemetry-store.ts';
import { createWorkload } from './workload.ts';

export interface GrowthStep {
  folder: string;
  devices: number;
  /** Of each device. */
  signals: number;
  seconds: number;
  /** Of a question, at the end of what is stored. */
  spanS: number;
  repeats: number;
}

export interface GrowthFigures {
  values: number;
  /** Processor time to take a value in. */
  intakeUs: number;
  bytesPerValue: number;
  /** Resident, the values and the load generator included. */
  residentMib: number;
  /** Processor time to open what is stored. */
  openMs: number;
  /** Processor time of one series by 1 min. */
  queryMs: number;
}

const SEED = 1;
const KINDS = 1;
/** Enough that all code of the store is compiled. */
const WARM_UP = { devices: 20, seconds: 1_800 };

async function run(step: GrowthStep): Promise<GrowthFigures> {
  await fill({ ...step, ...WARM_UP, folder: join(step.folder, 'warm-up') });
  const { values, processorMs, usedBytes, nowS, seriesCount } = await fill(step);
  const started = process.threadCpuUsage();
  const store = await openBenchStore(step.folder);
  const opened = process.threadCpuUsage(started);
  // Of all together: the system counts in steps of milliseconds.
  const asked = process.threadCpuUsage();
  for (let round = 0; round < step.repeats; round++)
    store.query([1 + ((round * 7) % seriesCount)], nowS + 1 - step.spanS, nowS + 1, 60);
  const answered = process.threadCpuUsage(asked);
  const residentMib = process.memoryUsage.rss() / 1_048_576;
  await store.close();
  return {
    values,
    intakeUs: (processorMs * 1_000) / values,
    bytesPerValue: usedBytes / values,
    residentMib,
    openMs: (opened.user + opened.system) / 1_000,
    queryMs: (answered.user + answered.system) / 1_000 / step.repeats,
  };
}

async function fill({ folder, devices, signals, seconds }: GrowthStep) {
  const store = await openBenchStore(folder);
  const workload = createWorkload({ seed: SEED, devices, signals, kinds: KINDS });
  const run = await store.replay(workload, seconds, 60);
  await store.close();
  return { ...run, nowS: workload.nowS, seriesCount: workload.seriesCount };
}

process.on('disconnect', () => process.exit(0));
const step = JSON.parse(process.argv[2] ?? '') as GrowthStep;
try {
  process.send?.(await run(step));
} finally {
  rmSync(step.folder, { recursive: true, force: true });
}
process.disconnect?.();
