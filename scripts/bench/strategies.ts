/**
 * A simulated house, day by day: what a strategy's script reaches in the sandbox beside doing nothing, a plain rule, and
 * perfect foresight. The same seed gives the same figures on every machine.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark, Report } from '../support/benchmark.ts';
import {
  BATTERY_RULES,
  batteryCase,
  type BatteryResult,
  type BatteryRule,
  batteryWeek,
} from '../simulate/house/battery.ts';
import { CAR_RULES, carCase, type CarResult, type CarRule, carWeek } from '../simulate/house/car.ts';
import { faultsOf, judged } from '../simulate/house/faults.ts';
import type { Figures, Subject } from '../simulate/house/home.ts';
import { PEAK_RULES, peakCase, peakDays, type PeakResult } from '../simulate/house/peak.ts';
import { plotOf, traced } from '../simulate/house/plot.ts';
import { runRule, type StrategyCase } from '../simulate/house/rule-host.ts';
import { live, SUBJECT_RULES, SUBJECTS, sumOf as sumOfFigures, weekOf } from '../simulate/house/subjects.ts';
import { createWeek, type Tariff, TARIFFS, type Week } from '../simulate/house/surroundings.ts';

const SEED = 1;
const STEP_S = 30;
/** A limit of a quarter of an hour needs a quick meter. */
const PEAK_STEP_S = 10;
/** Working days of each year. */
const PEAK_DAY = 20;

/** What is measured, by number; each can be run alone. */
const PARTS = [
  'car',
  ...TARIFFS.map((tariff) => `battery, ${tariff}`),
  'peak',
  ...SUBJECTS.map(({ id }) => id),
];

interface Parameters {
  /** Years of weather, trips and prices, and the seed of the first one. */
  seeds: number;
  first: number;
  /** Weeks of each year, at equal distances. */
  weeks: number;
  /** Days of each week. */
  days: number;
  /** First and last number of what is measured. */
  from: number;
  to: number;
  /** 1: with faults, of the strategies alone. */
  faults: number;
  /** 1: draws the first day of each week of the strategies, as files. */
  plots: number;
  [name: string]: number;
}

const WHOLE = { first: SEED, from: 1, to: PARTS.length, faults: 0, plots: 0 };

export const benchmark: Benchmark<Parameters> = {
  name: 'strategies',
  describe: 'what strategies reach in a simulated house, beside plain rules and perfect foresight',
  small: { ...WHOLE, seeds: 1, weeks: 1, days: 1, from: 4, to: 8 },
  large: { ...WHOLE, seeds: 3, weeks: 4, days: 7 },
  seed: SEED,
  run: async (parameters, report) => {
    const found: unknown[] = [];
    const { seeds, first, from, to } = parameters;
    report('measured', PARTS.slice(from - 1, to).join('; '));
    for (let seed = first; seed < first + seeds; seed++)
      for (const part of PARTS.slice(from - 1, to))
        found.push(await reportPart(part, seed, parameters, report));
    return createHash('sha256').update(JSON.stringify(found)).digest('hex').slice(0, 16);
  },
};

async function reportPart(
  part: string,
  seed: number,
  parameters: Parameters,
  report: Report,
): Promise<unknown> {
  const { weeks, days, faults, plots } = parameters;
  const starts = Array.from({ length: weeks }, (_, week) => Math.floor(((week + 0.5) * 365) / weeks));
  if (plots === 1) await plot(part, seed, starts, report);
  if (faults === 1) return reportFaults(part, seed, { starts, days }, report);
  const subject = SUBJECTS.find(({ id }) => id === part);
  if (subject) return reportSubject(subject, seed, { starts, days }, report);
  if (part === 'peak') return reportPeaks(seed, days, report);
  const all = starts.map((day) => ({ seed, day, week: createWeek({ seed, day, days, stepS: STEP_S }) }));
  const tariff = TARIFFS.find((one) => part === `battery, ${one}`);
  return tariff ? reportBatteries(all, tariff, report) : reportCars(all, report);
}

/** A strategy at work in a house of its own, how often that house saw a limit violated, and its commands for silence. */
interface Open {
  opened: StrategyCase;
  violations: () => number;
  silent: readonly string[];
}

function open(part: string, seed: number, day: number, days: number): Open {
  const subject = SUBJECTS.find(({ id }) => id === part);
  const at = { seed, day };
  if (subject) {
    const house = subject.open(weekOf(subject, at, days), at);
    const violations = (): number => house.figures.violations;
    return { opened: { code: subject.script(), house }, violations, silent: subject.silent ?? [] };
  }
  if (part === 'peak') {
    const opened = peakCase(createWeek({ ...at, days, stepS: PEAK_STEP_S }), seed);
    return { opened, violations: () => opened.house.result.preventable, silent: [] };
  }
  const week = createWeek({ ...at, days, stepS: STEP_S });
  const tariff = TARIFFS.find((one) => part === `battery, ${one}`);
  if (!tariff) {
    const opened = carCase(week, at);
    return { opened, violations: () => opened.house.result.violations, silent: [] };
  }
  const opened = batteryCase(week, { ...at, tariff });
  return { opened, violations: () => (opened.house.result.lowestPercent < 9.5 ? 1 : 0), silent: [] };
}

interface Days {
  starts: readonly number[];
  days: number;
}

async function reportFaults(part: string, seed: number, { starts, days }: Days, report: Report) {
  const sums = { faults: 0, unsafe: 0, jumps: 0, violations: 0, before: 0, errors: 0 };
  const notes: string[] = [];
  for (const day of part === 'peak' ? [PEAK_DAY] : starts) {
    const undisturbed = open(part, seed, day, days);
    const first = await runRule(undisturbed.opened);
    const disturbed = open(part, seed, day, days);
    const hours = SUBJECTS.find(({ id }) => id === part)?.hours ?? days * 24;
    const plan = faultsOf(seed * 1_000 + day, disturbed.opened.house.startMs, hours * 3_600_000);
    const second = await runRule(disturbed.opened, plan);
    const { faults, unsafe, jumps, notes: found } = judged(plan, first, second, disturbed.silent);
    sums.faults += faults;
    sums.unsafe += unsafe;
    sums.jumps += jumps;
    sums.violations += disturbed.violations();
    sums.before += undisturbed.violations();
    sums.errors += second.errors.filter((error) => !error.includes('device is offline')).length;
    notes.push(...found, ...second.errors);
  }
  const label = (what: string): string => `${part}, seed ${seed}: ${what}`;
  report(label('faults'), sums.faults);
  report(label('outputs not safe after a minute'), sums.unsafe);
  report(label('jumps after a fault'), sums.jumps);
  report(label('violations with faults'), sums.violations);
  report(label('violations without'), sums.before);
  report(label('errors'), sums.errors);
  for (const note of notes) report(label(note), 'note');
  return sums;
}

async function plot(part: string, seed: number, starts: readonly number[], report: Report): Promise<void> {
  const folder = join(tmpdir(), 'strategies');
  mkdirSync(folder, { recursive: true });
  for (const day of part === 'peak' ? [PEAK_DAY] : starts) {
    const { opened } = open(part, seed, day, 1);
    const trace = traced(opened.house);
    await runRule(opened);
    const path = join(folder, `${part.replaceAll(/[^a-z]+/g, '-')}-${seed}-${day}.svg`);
    writeFileSync(path, plotOf(`${part}, seed ${seed}, day ${day} of the year`, trace, opened.house.stepS));
    report(`${part}, seed ${seed}: drawn`, path);
  }
}

async function reportSubject(of: Subject, seed: number, { starts, days }: Days, report: Report) {
  const found = new Map<string, Figures>();
  for (const rule of SUBJECT_RULES) {
    const all: Figures[] = [];
    for (const day of starts) {
      const figures = await live(rule, of, weekOf(of, { seed, day }, days), { seed, day });
      if (figures) all.push(figures);
    }
    if (all.length === 0) continue;
    const sum = sumOfFigures(all);
    found.set(rule, sum);
    const name = rule === 'plain' ? of.plain.name : rule;
    const label = (what: string): string => `${of.id}, ${name}, seed ${seed}: ${what}`;
    report(label('cost'), sum.cost, '€');
    report(label('self-sufficiency'), Math.max(0, (1 - sum.importWh / sum.usedWh) * 100), '%');
    report(label('cycles'), sum.cycles);
    report(label('switches'), sum.switches);
    report(label('violations'), sum.violations);
    for (const [what, amount] of Object.entries(sum.own)) report(label(what), amount);
    report(label('errors'), sum.errors.length);
  }
  const costOf = (rule: string): number => found.get(rule)?.cost ?? 0;
  const best = costOf('nothing') - costOf('optimum');
  if (found.has('optimum') && best > 0.005)
    report(
      `${of.id}, seed ${seed}: of the optimum's gain`,
      ((costOf('nothing') - costOf('strategy')) / best) * 100,
      '%',
    );
  return [...found];
}

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
