/** Parameters for any strategy of the library, by what it declares: a new one is tested without a word about it. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { ScriptValues, Strategy, StrategyParameter } from '#library';
import type { Random } from '../../scripts/support/random.ts';
import type { JsonValue } from '../../src/protocol/telemetry.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';
import { scriptOf, type SimulatedSite, strategy } from './strategy-site.ts';

type Simple = Exclude<StrategyParameter, { kind: 'list' }>;
type Command = Extract<Simple, { kind: 'action' | 'setpoint' }>;

export const LIBRARY: readonly Strategy[] = readdirSync(join(PROJECT_ROOT, 'src/library/strategies'), {
  withFileTypes: true,
})
  .filter((entry) => entry.isDirectory())
  .map(({ name }) => strategy(name));

/** A command that a parameter stands for; undefined: the parameter is about another device. */
export type CommandOf = (parameter: Command, name: string, list: string) => ScriptValues | undefined;

const INPUT = 'input';

/** Numbers of parameters without a default. */
const numberFor = (unit: string | undefined): number => (unit === 'W' ? 5_000 : unit === '%' ? 50 : 1);

function valueFor(
  parameter: Simple,
  name: string,
  list: string,
  commandOf: CommandOf,
): ScriptValues | undefined {
  switch (parameter.kind) {
    case 'attribute':
      return { device: INPUT, attribute: name, factor: 1 };
    case 'action':
    case 'setpoint':
      return commandOf(parameter, name, list);
    case 'number':
      return parameter.default ?? numberFor(parameter.unit);
    default:
      return parameter.default;
  }
}

/** The script of a strategy whose every parameter has a value; `own` values take precedence, undefined: it has none. */
export function anyScript(
  { id, parameters }: Strategy,
  commandOf: CommandOf,
  own: Record<string, ScriptValues | undefined> = {},
): string {
  const values = Object.entries(parameters).map(([name, parameter]) => {
    if (name in own) return [name, own[name]];
    if (parameter.kind !== 'list') return [name, valueFor(parameter, name, '', commandOf)];
    const items = Object.entries(parameter.item).map(([key, each]) => [
      key,
      valueFor(each, key, name, commandOf),
    ]);
    return [name, items.some(([, value]) => value === undefined) ? [] : [Object.fromEntries(items)]];
  });
  return scriptOf(id, Object.fromEntries(values.filter(([, value]) => value !== undefined)));
}

/** Zero for every time that may be zero, so that decisions follow at once. */
export const withoutWaits = ({ parameters }: Strategy): Record<string, ScriptValues> =>
  Object.fromEntries(
    Object.entries(parameters).flatMap(([name, parameter]) =>
      parameter.kind === 'number' && /^(s|min)$/.test(parameter.unit ?? '') && parameter.min === 0
        ? [[name, 0]]
        : [],
    ),
  );

/** A random value for each input of the strategies, by name. */
export function anyValues(
  strategies: readonly Strategy[],
  random: Random,
  nowMs: number,
): Map<string, JsonValue> {
  const found = new Map<string, JsonValue>();
  for (const { parameters } of strategies)
    for (const [name, parameter] of Object.entries(parameters)) {
      if (parameter.kind !== 'attribute' || found.has(name)) continue;
      if (parameter.type === 'json') found.set(name, anySchedule(random, nowMs));
      else if (parameter.unit === '%') found.set(name, random.integer(5, 99));
      else if (parameter.unit === 'W') found.set(name, random.integer(-9_000, 9_000));
      // A contact or a level: nothing, or some.
      else found.set(name, random.integer(0, 1) * random.integer(1, 20));
    }
  return found;
}

/** It rises or falls all the time, so that a plan is the same for hours, also by a clock that is put forward or back. */
function anySchedule(random: Random, nowMs: number): JsonValue {
  const around = Math.floor(nowMs / 1_000 / 900) * 900;
  const [first, last] = [random.integer(5, 60) / 100, random.integer(5, 60) / 100];
  const values = Array.from({ length: 192 }, (_, quarter) => first + ((last - first) * quarter) / 192);
  return { start: around - 8 * 3_600, step_s: 900, values };
}

/** Measures all of them now. */
export function measureAll(site: SimulatedSite, values: ReadonlyMap<string, JsonValue>): void {
  for (const [name, value] of values) site.measure(`${INPUT}.${name}`, value);
}
