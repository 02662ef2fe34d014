/**
 * One job of the benchmark `growth`, a process of its own, so that no job leaves memory or compiled code to the next. Sends
 * its figures to its parent.
 */
import { once } from 'node:events';
import { rmSync } from 'node:fs';
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
 * Stores some time of a site from noon on; then the day is over, so all is sealed and compacted. Repeats it the next day
 * until there are enough values to measure.
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
/** The values of so long are one record of the journal, and each can be read alone: as often as one of 60 in the gateway. */
const HOURS_SYNC_EVERY_S = 60;
/** Fewer, or a year would be spent on syncs. */
const DAYS_SYNC_EVERY_S = 600;
const RECORDS_PER_KEY = 1;
const HOUR_S = 3_600;
const DAY_S = 86_400;
/** The sun shines, so most attributes change. */
const NOON_S = WORKLOAD_START_S + 12 * HOUR_S;
/** G: with an hour of so many, all code of the store is compiled. */
const WARM_UP_DEVICES = 100;
/** Stored before the first stretch of days, so that each day of a stretch is compacted within it. */
const LEAD_IN_S = 3 * HOUR_S;

const workloadOf = ({ devices, signals }: Site, startS: number): Workload =>
  createWorkload({ seed: SEED, devices, signals, kinds: KINDS, startS });

/** An hour a day in one store. */
async function hours(job: HoursJob): Promise<void> {
  if (job.isWarmedUp) await warmUp(job);
  const store = await openBenchStore(job.folder, { startS: NOON_S, recordsPerKey: RECORDS_PER_KEY });
  let [values, processorMs, largestMib, usedBytes, nowS] = [0, 0, 0, 0, 0];
  for (let startS = NOON_S; values === 0 || values < job.valuesMin; startS += DAY_S) {
    const workload = workloadOf(job, startS);
    const run = await store.replay(workload, job.seconds, HOURS_SYNC_EVERY_S);
    values += run.values;
    processorMs += run.processorMs;
    largestMib = Math.max(largestMib, run.largestMib);
    ({ usedBytes } = run);
    ({ nowS } = workload);
  }
  await store.close();
  send({ values, nowS, intakeUs: (processorMs * 1_000) / values, usedBytes, largestMib });
}

/** With a store that is thrown away. */
async function warmUp({ folder: of, ...site }: Site): Promise<void> {
  const folder = `${of}-warm-up`;
  const store = await openBenchStore(folder, { startS: NOON_S });
  await store.replay(
    workloadOf({ ...site, folder, devices: WARM_UP_DEVICES }, NOON_S),
    HOUR_S,
    HOURS_SYNC_EVERY_S,
  );
  await store.close();
  rmSync(folder, { recursive: true, force: true });
}

async function days(job: DaysJob): Promise<void> {
  const workload = workloadOf(job, WORKLOAD_START_S);
  const stretch = async (seconds: number): Promise<StoreRun> => {
    const store = await openBenchStore(job.folder, {
      startS: workload.nowS,
      recordsPerKey: RECORDS_PER_KEY,
    });
    const run = await store.replay(workload, seconds, DAYS_SYNC_EVERY_S, false);
    await store.close();
    return run;
  };
  await warmUp(job);
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
  const store = await openBenchStore(folder, { startS: nowS });
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
