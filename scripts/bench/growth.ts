/**
 * What one more device and one more day cost: from 1 to 1 000 devices with ten attributes at 1 Hz for an hour, and series
 * from a day to a year. Processor time, each job in a process of its own; flat lines are what is wanted.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { on, once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { type Growth, growthPlot } from '../support/growth-plot.ts';
import type { DaysJob, HoursJob, OpenJob, Opened, Stored } from '../support/growth-step.ts';

const STEP = join(import.meta.dirname, '..', 'support', 'growth-step.ts');
const PLOT = join(import.meta.dirname, '..', '..', 'docs', 'pictures', 'growth.svg');
const DAY_S = 86_400;
const HOUR_S = 3_600;
const SIGNALS = 10;
/** G: openings in fresh processes, of which the middle one counts. */
const OPENINGS = 5;
/** As the gateway runs. */
const FLAGS = ['--max-semi-space-size=2'];

interface Parameters {
  /** Most devices, 0 for none, and seconds of each step with them. */
  devices: number;
  seconds: number;
  /** The hour of few devices is repeated until it has so many values. */
  valuesMin: number;
  /** Longest time, 0 for none, with so many devices of ten attributes. */
  days: number;
  yearDevices: number;
  /** Answers that are measured together. */
  repeats: number;
  /** 1: writes docs/pictures/growth.svg. */
  plot: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'growth',
  describe: 'Cost of a value, memory, start and queries from 1 to 1 000 devices and from a day to a year.',
  small: { devices: 10, seconds: 120, valuesMin: 0, days: 0.01, yearDevices: 1, repeats: 3, plot: 0 },
  large: {
    devices: 1_000,
    seconds: HOUR_S,
    valuesMin: 7_200_000,
    days: 365,
    yearDevices: 10,
    repeats: 300,
    plot: 0,
  },
  seed: 1,
  run: async (parameters, report) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-growth-'));
    try {
      const wide = await measureDevices(folder, parameters, report);
      const long = await measureDays(folder, parameters, report);
      if (parameters.plot > 0) writeFileSync(PLOT, growthPlot(wide, long));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    return undefined;
  },
};

async function measureDevices(folder: string, parameters: Parameters, report: Report): Promise<Growth[]> {
  const { devices: most, seconds, valuesMin, repeats } = parameters;
  const steps: Growth[] = [];
  for (const devices of stepsTo(most, [1, 10, 100, 1_000])) {
    const site = { folder: join(folder, `devices-${devices}`), devices, signals: SIGNALS };
    const job = { ...site, kind: 'hours', seconds } as const;
    // Memory and start of one hour, in a process that stored nothing before.
    const { intakeUs: _, ...stored } = await figuresOf<Stored>({ ...job, valuesMin: 0, isWarmedUp: false });
    const { nowS } = stored;
    const opened = await reopen({ ...site, nowS, spanS: Math.min(HOUR_S, seconds), repeats });
    rmSync(site.folder, { recursive: true, force: true });
    const { intakeUs } = await figuresOf<Stored>({ ...job, valuesMin, isWarmedUp: true });
    steps.push({ at: devices, ...stored, ...opened, intakeUs });
    tell(`${devices} devices`, steps, report);
    rmSync(site.folder, { recursive: true, force: true });
  }
  return steps;
}

/** One store that grows. */
async function measureDays(folder: string, parameters: Parameters, report: Report): Promise<Growth[]> {
  const { days: most, yearDevices: devices, repeats } = parameters;
  const site = { folder: join(folder, 'days'), devices, signals: SIGNALS };
  const days = stepsTo(most, [1, 7, 30, 90, 365]);
  const endsS = days.map((count) => Math.round(count * DAY_S));
  const spanS = Math.min(DAY_S, ...endsS);
  const steps: Growth[] = [];
  if (days.length === 0) return steps;
  const child = start({ ...site, kind: 'days', endsS });
  for await (const stored of messagesOf<Stored>(child)) {
    const at = days[steps.length] ?? 0;
    const opened = await reopen({ ...site, nowS: stored.nowS, spanS, repeats });
    steps.push({ at, ...stored, ...opened });
    tell(`${at} days`, steps, report);
    if (at < most) child.send('go on');
  }
  return steps;
}

/** Those below the most, and the most; none when that is 0. */
function stepsTo(most: number, steps: readonly number[]): number[] {
  if (most === 0) return [];
  return [...steps.filter((step) => step < most), most];
}

/** The middle one of several openings, each in a new process. */
async function reopen(job: Omit<OpenJob, 'kind'>): Promise<Opened> {
  const all: Opened[] = [];
  while (all.length < OPENINGS) all.push(await figuresOf<Opened>({ ...job, kind: 'open' }));
  const middle = (of: (opened: Opened) => number): number =>
    all.map(of).sort((a, b) => a - b)[Math.floor(OPENINGS / 2)] ?? 0;
  return {
    openMs: middle(({ openMs }) => openMs),
    queryMs: middle(({ queryMs }) => queryMs),
    readerMib: middle(({ readerMib }) => readerMib),
  };
}

type Job = HoursJob | DaysJob | OpenJob;

function start(job: Job): ChildProcess {
  const execArgv = [...process.execArgv, ...FLAGS];
  return fork(STEP, [JSON.stringify(job)], { execArgv });
}

/** Of a job that sends figures once. */
async function figuresOf<Figures>(job: Job): Promise<Figures> {
  const all: Figures[] = [];
  for await (const figures of messagesOf<Figures>(start(job))) all.push(figures);
  return all[0] as Figures;
}

/** @throws Error when the process failed */
async function* messagesOf<Figures>(child: ChildProcess): AsyncGenerator<Figures> {
  const exited = once(child, 'exit');
  for await (const [figures] of on(child, 'message', { close: ['disconnect'] })) yield figures as Figures;
  const [code] = (await exited) as [number | null];
  if (code !== 0) throw new Error(`a step ended with ${code}`);
}

function tell(label: string, all: readonly Growth[], report: Report): void {
  const last = all.at(-1);
  if (!last) return;
  const { values, intakeUs, usedBytes, largestMib, openMs, queryMs, readerMib } = last;
  report(`${label}: values stored`, values);
  report(`${label}: processor time per value, from the record to the block of the day`, intakeUs, 'µs');
  report(`${label}: on disk, fixed parts of the database included`, usedBytes / values, 'bytes/value');
  report(`${label}: largest resident memory meanwhile, load generator included`, largestMib, 'MiB');
  report(`${label}: opening in a new process, journal included`, openMs, 'ms');
  report(`${label}: there, one series by 1 min`, queryMs, 'ms');
  report(`${label}: there, resident memory`, readerMib, 'MiB');
  report(`${label}: load of the machine`, loadavg()[0] ?? 0);
}
