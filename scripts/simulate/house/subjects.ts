/** Strategies that have a house at the grid with one thing to decide. */
import { electrolyser } from './electrolyser.ts';
import { exportLimit } from './export-limit.ts';
import { generator } from './generator.ts';
import { gridSignal } from './grid-signal.ts';
import { heatPump } from './heat-pump.ts';
import { type At, type Figures, noFigures, type Subject } from './home.ts';
import { surplusLoads } from './loads.ts';
import { runRule } from './rule-host.ts';
import { batteryHealth, batteryReserve } from './storage.ts';
import { createWeek, type Week } from './surroundings.ts';

export const SUBJECTS: readonly Subject[] = [
  heatPump,
  surplusLoads,
  generator,
  electrolyser,
  batteryHealth,
  batteryReserve,
  exportLimit,
  gridSignal,
];

export const SUBJECT_RULES = ['nothing', 'plain', 'strategy', 'optimum'] as const;
export type SubjectRule = (typeof SUBJECT_RULES)[number];

/** So many days of its weather, or its hours. */
export function weekOf({ stepS, hours }: Subject, at: At, days: number): Week {
  const week = createWeek({ ...at, days: hours === undefined ? days : 1, stepS });
  if (hours === undefined) return week;
  const steps = (hours * 3_600) / stepS;
  return { ...week, pvW: week.pvW.subarray(0, steps), loadW: week.loadW.subarray(0, steps) };
}

/** Undefined: no optimum makes sense. */
export async function live(rule: SubjectRule, of: Subject, week: Week, at: At): Promise<Figures | undefined> {
  if (rule === 'optimum') return of.optimum?.(week, at);
  const house = of.open(week, at);
  if (rule === 'strategy') {
    const { errors } = await runRule({ code: of.script(), house });
    return { ...house.finished(), errors };
  }
  while (house.step()) if (rule === 'plain') of.plain.decide(house);
  return house.finished();
}

export function sumOf(all: readonly Figures[]): Figures {
  const sum = noFigures();
  for (const { own, errors, ...rest } of all) {
    for (const [name, amount] of Object.entries(rest)) sum[name as keyof typeof rest] += amount;
    for (const [label, amount] of Object.entries(own)) sum.own[label] = (sum.own[label] ?? 0) + amount;
    sum.errors.push(...errors);
  }
  return sum;
}
