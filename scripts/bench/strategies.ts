/**
 * A simulated house, day by day: what a strategy's script reaches in the sandbox beside doing nothing, a plain rule, and
 * perfect foresight. The same seed gives the same figures on every machine.
 */
import { createHash } from 'node:crypto';
import type { Benchmark, Report } from '../support/benchmark.ts';
import {
  BATTERY_RULES,
  type BatteryResult,
  type BatteryRule,
  batteryWeek,
} from '../simulate/house/battery.ts';
import { CAR_RULES, type CarResult, type CarRule, carWeek } from '../simulate/house/car.ts';
import { PEAK_RULES, peakDays, type PeakResult } from '../simulate/house/peak.ts';
import { createWeek, type Tariff, TARIFFS, type Week } from '../simulate/house/surroundings.ts';

const SEED = 1;
const STEP_S = 30;
/** A limit of a quarter of an hour needs a quick meter. */
const PEAK_STEP_S = 10;
/** Working days of each year. */
const PEAK_DAY = 20;

interface Parameters {
  /** Years of weather, trips and prices, and the seed of the first one. */
  seeds: number;
  first: number;
  /** Weeks of each year, at equal distances. */
  weeks: number;
  /** Days of each week. */
  days: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'strategies',
  describe: 'what strategies reach in a simulated house, beside plain rules and perfect foresight',
  small: { seeds: 1, first: SEED, weeks: 1, days: 1 },
  large: { seeds: 3, first: SEED, weeks: 4, days: 7 },
  seed: SEED,
  run: async ({ seeds, first, weeks, days }, report) => {
    const found: unknown[] = [];
    for (let seed = first; seed < first + seeds; seed++) {
      const starts = Array.from({ length: weeks }, (_, week) => Math.floor(((week + 0.5) * 365) / weeks));
      const all = starts.map((day) => ({ seed, day, week: createWeek({ seed, day, days, stepS: STEP_S }) }));
      found.push(await reportCars(all, report));
      for (const tariff of TARIFFS) found.push(await reportBatteries(all, tariff, report));
      found.push(await reportPeaks(seed, days, report));
    }
    return createHash('sha256').update(JSON.stringify(found)).digest('hex').slice(0, 16);
  },
};

interface Start {
  seed: number;
  day: number;
  week: Week;
}

const sumOf = <Item>(items: readonly Item[], take: (item: Item) => number): number =>
  items.reduce((sum, item) => sum + take(item), 0);

async function reportCars(starts: readonly Start[], report: Report) {
  const shares = new Map<CarRule, number>();
  const found: CarResult[][] = [];
  for (const rule of CAR_RULES) {
    const results: CarResult[] = [];
    for (const { week, seed, day } of starts) results.push(await carWeek(rule, week, { seed, day }));
    found.push(results);
    const label = (what: string): string => `car, ${rule}, seed ${starts[0]?.seed}: ${what}`;
    const solar = sumOf(results, ({ solarWh }) => solarWh);
    const grid = sumOf(results, ({ gridWh }) => gridWh);
    shares.set(rule, solar / (solar + grid));
    report(label('from the sun'), solar / 1_000, 'kWh');
    report(label('from the grid'), grid / 1_000, 'kWh');
    report(label('share of the sun'), (shares.get(rule) ?? 0) * 100, '%');
    if (rule === 'optimum') continue;
    report(label('most starts a day'), Math.max(...results.map(({ mostStartsADay }) => mostStartsADay)));
    report(
      label('switches of phases'),
      sumOf(results, ({ phaseSwitches }) => phaseSwitches),
    );
    report(label('missing at seven'), sumOf(results, ({ missingWh }) => missingWh) / 1_000, 'kWh');
    report(
      label('violations and errors'),
      sumOf(results, ({ violations, errors }) => violations + errors.length),
    );
  }
  const best = shares.get('optimum') ?? 0;
  if (best > 0)
    report(
      `car, seed ${starts[0]?.seed}: of the optimum's share`,
      ((shares.get('strategy') ?? 0) / best) * 100,
      '%',
    );
  return found;
}

async function reportBatteries(starts: readonly Start[], tariff: Tariff, report: Report) {
  const costs = new Map<BatteryRule, number>();
  const found: BatteryResult[][] = [];
  for (const rule of BATTERY_RULES) {
    const results: BatteryResult[] = [];
    for (const { week, seed, day } of starts)
      results.push(await batteryWeek(rule, week, { seed, day, tariff }));
    found.push(results);
    const label = (what: string): string => `battery, ${tariff}, ${rule}, seed ${starts[0]?.seed}: ${what}`;
    costs.set(
      rule,
      sumOf(results, ({ cost }) => cost),
    );
    const bought = sumOf(results, ({ importWh }) => importWh);
    report(label('cost'), costs.get(rule) ?? 0, '€');
    report(label('self-sufficiency'), (1 - bought / sumOf(results, ({ loadWh }) => loadWh)) * 100, '%');
    report(
      label('cycles'),
      sumOf(results, ({ cycles }) => cycles),
    );
    report(
      label('switches'),
      sumOf(results, ({ switches }) => switches),
    );
    report(label('lowest charge'), Math.min(...results.map(({ lowestPercent }) => lowestPercent)), '%');
    report(
      label('errors'),
      sumOf(results, ({ errors }) => errors.length),
    );
  }
  for (const base of ['no battery', 'by itself'] as const) {
    const saving = (rule: BatteryRule): number => (costs.get(base) ?? 0) - (costs.get(rule) ?? 0);
    const share = (saving('strategy') / saving('optimum')) * 100;
    report(
      `battery, ${tariff}, seed ${starts[0]?.seed}: of the optimum's saving against ${base}`,
      share,
      '%',
    );
  }
  return found;
}

async function reportPeaks(seed: number, days: number, report: Report) {
  const week = createWeek({ seed, day: PEAK_DAY, days, stepS: PEAK_STEP_S });
  const found: PeakResult[] = [];
  for (const rule of PEAK_RULES) {
    const result = await peakDays(rule, week, seed);
    found.push(result);
    const label = (what: string): string => `peak, ${rule}, seed ${seed}: ${what}`;
    report(label('quarters above the limit'), result.violated);
    report(label('of these with energy and power left'), result.preventable);
    report(label('discharged'), result.dischargedWh / 1_000, 'kWh');
    report(label('changes of the power'), result.changes);
    report(label('errors'), result.errors.length);
  }
  return found;
}
