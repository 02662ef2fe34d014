/** The form of `strategies/<name>/strategy.yml`: what a strategy is called, and what its script must be given. */
import * as v from 'valibot';
import { WEEKDAYS } from '../../lib/weekdays.ts';

/** Languages of the texts. */
const localized = v.strictObject({ en: v.string(), de: v.string() });

const named = { name: localized, hint: v.optional(localized), optional: v.optional(v.boolean()) };
const clock = v.pipe(v.string(), v.regex(/^([01]\d|2[0-3]):[0-5]\d$/));

/** Units that attributes may be asked in; `kW` and its like are converted. */
const UNITS = ['W', '%'] as const;

const SIMPLE = [
  v.strictObject({
    ...named,
    kind: v.literal('attribute'),
    unit: v.optional(v.picklist(UNITS)),
    /** A structure, such as a schedule of prices; without it a number. */
    type: v.optional(v.literal('json')),
    /** Part of the energy site whose power is offered first. */
    role: v.optional(v.string()),
    /** Meaning of a positive and a negative number; without it the sign does not matter. */
    sign: v.optional(v.strictObject({ positive: localized, negative: localized })),
  }),
  v.strictObject({
    ...named,
    kind: v.literal('number'),
    unit: v.optional(v.string()),
    min: v.optional(v.number()),
    max: v.optional(v.number()),
    integer: v.optional(v.boolean()),
    default: v.optional(v.number()),
  }),
  v.strictObject({ ...named, kind: v.literal('time'), default: v.optional(clock) }),
  v.strictObject({
    ...named,
    kind: v.literal('time_window'),
    default: v.optional(v.strictObject({ from: clock, to: clock })),
  }),
  v.strictObject({
    ...named,
    kind: v.literal('weekdays'),
    default: v.optional(v.array(v.picklist(WEEKDAYS))),
  }),
  v.strictObject({
    ...named,
    kind: v.literal('choice'),
    choices: v.record(v.string(), localized),
    default: v.optional(v.string()),
  }),
  /** A command with all its arguments. */
  v.strictObject({ ...named, kind: v.literal('action'), role: v.optional(v.string()) }),
  /** A command of which the strategy sets one argument. */
  v.strictObject({
    ...named,
    kind: v.literal('setpoint'),
    unit: v.optional(v.string()),
    role: v.optional(v.string()),
  }),
] as const;

const simple = v.variant('kind', SIMPLE);

const list = v.strictObject({
  ...named,
  kind: v.literal('list'),
  min: v.number(),
  max: v.number(),
  /** Parameters of each item. */
  item: v.record(v.string(), simple),
});

const parameter = v.variant('kind', [...SIMPLE, list]);

export const strategySchema = v.strictObject({
  strategy: v.literal('strategy/1'),
  name: localized,
  /** One sentence: what it is for. */
  about: localized,
  category: v.picklist(['basic', 'solar', 'battery', 'grid', 'heat']),
  /** One sentence: what it does when its inputs are silent. */
  when_silent: localized,
  /** Pairs of numbers, the first of which is not above the second. */
  order: v.optional(v.array(v.tuple([v.string(), v.string()]))),
  parameters: v.record(v.string(), parameter),
});

/** A text in each language of the library. */
export type Localized = v.InferOutput<typeof localized>;

/** A parameter of a strategy as its file declares it. */
export type StrategyParameter = v.InferOutput<typeof parameter>;

/** The content of `strategy.yml`. */
type StrategyFile = v.InferOutput<typeof strategySchema>;

/** A strategy: its declaration and the part of the script that is its own. */
export interface Strategy extends StrategyFile {
  /** Name of its folder. */
  id: string;
  rule: string;
}
