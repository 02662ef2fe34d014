/**
 * One job of the benchmark `growth`, a process of its own, so that no job leaves memory or compiled code to the next. Sends
 * its figures to its parent.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { openBenchStore, type StoreRun } from './telemetry-store.ts';
import { createWorkload, type Workload, WORKLOAD_START_S } from './workload.ts';

/** Devices of one kind, whose attributes all come once a second. */
interface Site {
  /** Of the store. */
  folder: string;
  devices: number;
  /** Attributes of each device. */
  signals: number;
}

/**
 * Stores the first seconds of a site from noon on; then the day is over, so all is sealed and compacted. Repeats it in new
 * stores until there are enough values to measure.
 */
export interface HoursJob extends Site {
  kind: 'hours';
  seconds: number;
  valuesMin: number;
  /** True: another site is stored first, so that all code is compiled. */
  isWarmedUp: boolean;
}

/** Stores day after day. After each stretch it sends its figures, closes the store, and waits for a message. */
export interface DaysJob extends Site {
  kind: 'days';
  /** Where the stretches end, in seconds since the first one began. */
  endsS: readonly number[];
}

/** Opens a store as after a restart, and asks for one series after another. */
export interface OpenJob extends Site {
  kind: 'open';
  nowS: number;
  spanS: number;
  repeats: number;
}

export interface Stored {
  /** In the store. */
  values: number;
  /** Unix seconds of the last one. */
  nowS: number;
  /** Processor time per value taken in since the last figures. */
  intakeUs: number;
  usedBytes: number;
  /** Largest resident memory, the load generator included. */
  largestMib: number;
}

export interface Opened {
  /** Processor time until the store can be asked. */
  openMs: number;
  /** Processor time per answer. */
  queryMs: number;
  readerMib: number;
}

const SEED = 1;
const KINDS = 1;
/** The values of a minute are one record of the journal. */
const SYNC_EVERY_S = 60;
const HOUR_S = 3_600;
/** The sun shines, so most attributes change. */
const NOON_S = WORKLOAD_START_S + 12 * HOUR_S;
/** G: enough that all code of the store is compiled. */
const WARM_UP = { devices: 100, seconds: HOUR_S };
/** Stored before the first stretch of days, so that each day of a stretch is compacted within it. */
const LEAD_IN_S = 3 * HOUR_S;

const workloadOf = ({ devices, signals }: Site, startS: number): Workload =>
  createWorkload({ seed: SEED, devices, signals, kinds: KINDS, startS });

async function hours(job: HoursJob): Promise<void> {
  if (job.isWarmedUp) await storeHour({ ...job, ...WARM_UP });
  let [values, processorMs, largestMib] = [0, 0, 0];
  let last: StoreRun & { nowS: number };
  do {
    last = await storeHour(job);
    values += last.values;
    processorMs += last.processorMs;
    largestMib = Math.max(largestMib, last.largestMib);
  } while (values < job.valuesMin);
  const { nowS, usedBytes } = last;
  send({ values: last.values, nowS, intakeUs: (processorMs * 1_000) / values, usedBytes, largestMib });
}

/** In a new store. */
async function storeHour(job: HoursJob): Promise<StoreRun & { nowS: number }> {
  rmSync(job.folder, { recursive: true, force: true });
  const workload = workloadOf(job, NOON_S);
  const store = await openBenchStore(job.folder, NOON_S);
  const run = await store.replay(workload, job.seconds, SYNC_EVERY_S);
  await store.close();
  return { ...run, nowS: workload.nowS };
}

async function days(job: DaysJob): Promise<void> {
  const workload = workloadOf(job, WORKLOAD_START_S);
  const stretch = async (seconds: number): Promise<StoreRun> => {
    const store = await openBenchStore(job.folder, workload.nowS);
    const run = await store.replay(workload, seconds, SYNC_EVERY_S, false);
    await store.close();
    return run;
  };
  let { values } = await stretch(LEAD_IN_S);
  for (const [index, endS] of job.endsS.entries()) {
    const run = await stretch(endS - (job.endsS[index - 1] ?? 0));
    values += run.values;
    const { usedBytes, largestMib } = run;
    const intakeUs = (run.processorMs * 1_000) / run.values;
    const goesOn = index < job.endsS.length - 1 ? once(process, 'message') : undefined;
    send({ values, nowS: workload.nowS, intakeUs, usedBytes, largestMib });
    await goesOn;
  }
}

async function open({ folder, devices, signals, nowS, spanS, repeats }: OpenJob): Promise<void> {
  const started = process.cpuUsage();
  const store = await openBenchStore(folder, nowS);
  const opened = process.cpuUsage(started);
  const asked = process.cpuUsage();
  for (let round = 0; round < repeats; round++)
    store.query([1 + ((round * 7) % (devices * signals))], nowS + 1 - spanS, nowS + 1, 60);
  const answered = process.cpuUsage(asked);
  const readerMib = process.memoryUsage.rss() / 1_048_576;
  await store.close();
  send({
    openMs: (opened.user + opened.system) / 1_000,
    queryMs: (answered.user + answered.system) / 1_000 / repeats,
    readerMib,
  });
}

function send(figures: Stored | Opened): void {
  process.send?.(figures);
}

process.on('disconnect', () => process.exit(0));
const job = JSON.parse(process.argv[2] ?? '') as HoursJob | DaysJob | OpenJob;
if (job.kind === 'hours') await hours(job);
else if (job.kind === 'days') await days(job);
else await open(job);
process.disconnect?.();
