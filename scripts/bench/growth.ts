/**
 * What one more device and one more day cost: from 1 to 1 000 devices with ten attributes at 1 Hz for an hour, and series
 * from a day to a year. Processor time, each step in a process of its own; flat lines are what is wanted.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { type Growth, growthPlot } from '../support/growth-plot.ts';
import type { GrowthFigures, GrowthStep } from '../support/growth-step.ts';

const STEP = join(import.meta.dirname, '..', 'support', 'growth-step.ts');
const PLOT = join(import.meta.dirname, '..', '..', 'docs', 'pictures', 'growth.svg');
const DAY_S = 86_400;
const HOUR_S = 3_600;
const SIGNALS = 10;

interface Parameters {
  /** Most devices, and seconds of each step with them. */
  devices: number;
  seconds: number;
  /** Longest time, with so many devices of ten attributes. */
  days: number;
  yearDevices: number;
  repeats: number;
  /** 1: writes docs/pictures/growth.svg. */
  plot: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'growth',
  describe: 'Cost of a value, memory, start and queries from 1 to 1 000 devices and from a day to a year.',
  small: { devices: 10, seconds: 120, days: 0.01, yearDevices: 1, repeats: 3, plot: 0 },
  large: { devices: 1_000, seconds: HOUR_S, days: 365, yearDevices: 10, repeats: 300, plot: 0 },
  seed: 1,
  run: async ({ devices, seconds, days, yearDevices, repeats, plot }, report) => {
    const shared = { signals: SIGNALS, repeats };
    const wide: Growth[] = [];
    for (const count of stepsTo(devices, [1, 10, 100, 1_000])) {
      const step = { ...shared, devices: count, seconds, spanS: Math.min(HOUR_S, seconds) };
      wide.push({ at: count, ...(await measure(step)) });
      tell(`${count} devices`, wide, report);
    }
    const long: Growth[] = [];
    for (const count of stepsTo(days, [1, 7, 30, 90, 365])) {
      const length = Math.round(count * DAY_S);
      const step = { ...shared, devices: yearDevices, seconds: length, spanS: Math.min(DAY_S, length) };
      long.push({ at: count, ...(await measure(step)) });
      tell(`${count} days`, long, report);
    }
    if (plot > 0) writeFileSync(PLOT, growthPlot(wide, long));
    return undefined;
  },
};

/** Those below the most, and the most. */
function stepsTo(most: number, steps: readonly number[]): number[] {
  return [...steps.filter((step) => step < most), most];
}

function measure(step: Omit<GrowthStep, 'folder'>): Promise<GrowthFigures> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-growth-'));
  const child = fork(STEP, [JSON.stringify({ ...step, folder })], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  return new Promise((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a step ended with ${code}`)));
    child.once('message', (figures: GrowthFigures) => resolve(figures));
  });
}

function tell(label: string, all: readonly Growth[], report: Report): void {
  const last = all.at(-1);
  if (!last) return;
  report(`${label}: values stored`, last.values);
  report(`${label}: processor time to take one in`, last.intakeUs, 'µs');
  report(`${label}: on disk`, last.bytesPerValue, 'bytes/value');
  report(`${label}: resident`, last.residentMib, 'MiB');
  report(`${label}: opening what is stored`, last.openMs, 'ms');
  report(`${label}: one series by 1 min`, last.queryMs, 'ms');
}
