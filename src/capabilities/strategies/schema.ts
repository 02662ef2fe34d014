/** Strategies as they stand on the wire. */
import * as v from 'valibot';
import type { Strategy, StrategyParameter } from '#library';
import { query, shape } from '../../platform/http/index.ts';

const CATEGORIES = ['basic', 'solar', 'battery', 'grid', 'heat'] as const;
const KINDS = [
  'attribute',
  'number',
  'time',
  'time_window',
  'weekdays',
  'choice',
  'action',
  'setpoint',
] as const;

const localizedShape = () => v.object({ en: v.string(), de: v.string() });
const names = (about: string) => shape.about(v.array(v.string()), about);

const entries = {
  id: v.string(),
  name: localizedShape(),
  about: shape.about(localizedShape(), 'One sentence.'),
  category: v.picklist(CATEGORIES),
  reads: names('Parameters that name what it reads; `loads.power_w` is a member of the items of `loads`.'),
  commands: names('Parameters that name what it commands.'),
};

const EXAMPLE = {
  id: 'daily',
  name: { en: 'At a time of day', de: 'Zu einer Uhrzeit' },
  about: { en: 'Runs a command at a time of day.', de: 'Führt einen Befehl zu einer Uhrzeit aus.' },
  category: 'basic' as const,
  reads: [],
  commands: ['action'],
};

const parameterEntries = {
  name: v.string(),
  display_name: localizedShape(),
  description: v.optional(localizedShape()),
  required: shape.about(v.boolean(), 'It has no default and must be given.'),
  unit: v.optional(v.string()),
  min: v.optional(v.number()),
  max: v.optional(v.number()),
  integer: v.optional(v.literal(true)),
  default: v.optional(v.unknown()),
  choices: v.optional(v.array(v.object({ value: v.string(), display_name: localizedShape() }))),
  role: v.optional(shape.about(v.string(), 'Part of the energy site whose device is meant.')),
  type: v.optional(shape.about(v.literal('json'), 'Type of the attribute; absent: a number.')),
  sign: v.optional(
    shape.about(
      v.object({ positive: localizedShape(), negative: localizedShape() }),
      'What the sign of the value means; `inverted` says that the device counts the other way.',
    ),
  ),
};

const itemShape = v.object({ ...parameterEntries, kind: v.picklist(KINDS) });
const parameterShape = v.object({
  ...parameterEntries,
  kind: v.picklist([...KINDS, 'list']),
  parameters: v.optional(shape.about(v.array(itemShape), 'Of each item of a list.')),
});

const listedShape = shape.named('Strategy', v.object(entries), EXAMPLE);
const entryShape = shape.named(
  'StrategyEntry',
  v.object({
    ...entries,
    when_silent: shape.about(localizedShape(), 'What it does when its inputs are silent.'),
    parameters: v.array(parameterShape),
  }),
);

export const strategyShapes = {
  list: shape.listOf('strategies', listedShape),
  one: v.object({ strategy: entryShape }),
};

export const listQuery = v.object({
  ...query.page(),
  search: query.text(
    'Words, each of which is part of the id, the name or the sentence, in any language and case.',
  ),
  'category.in': query.optionalChoices(CATEGORIES, 'Of one of these categories.'),
});

/** Command of the strategy `daily`. */
const SET_MODE = {
  at: '22:00',
  action: { device: 'battery-1', command: 'set_mode', arguments: { mode: 'backup', reserve_percent: 80 } },
};

const parameters = shape.about(
  shape.anyNames(SET_MODE),
  'Values by parameter; null and absent mean the default.',
);

export const scriptBody = v.object({ parameters });

export const newRuleBody = v.pipe(
  v.object({ slug: shape.slug(), parameters, disable: v.nullish(v.boolean()) }),
  shape.example({ slug: 'night-reserve', parameters: SET_MODE, disable: true }),
);

export const parametersBody = v.object({
  parameters: shape.about(
    shape.anyNames({ at: '23:00' }),
    'Those that are absent stay; null means the default.',
  ),
});

export type StrategyOnWire = v.InferOutput<typeof listedShape>;
export type StrategyEntryOnWire = v.InferOutput<typeof entryShape>;
export type StrategyParameterOnWire = v.InferOutput<typeof parameterShape>;

export function strategyToWire({
  id,
  name,
  about,
  category,
  parameters: declared,
}: Strategy): StrategyOnWire {
  const kinds = Object.entries(declared).flatMap(([key, parameter]) =>
    parameter.kind === 'list'
      ? Object.entries(parameter.item).map(([member, { kind }]) => ({ key: `${key}.${member}`, kind }))
      : [{ key, kind: parameter.kind }],
  );
  const namesOf = (...wanted: string[]) =>
    kinds.filter(({ kind }) => wanted.includes(kind)).map(({ key }) => key);
  return {
    id,
    name,
    about,
    category,
    reads: namesOf('attribute'),
    commands: namesOf('action', 'setpoint'),
  };
}

export function entryToWire(strategy: Strategy): StrategyEntryOnWire {
  return {
    ...strategyToWire(strategy),
    when_silent: strategy.when_silent,
    parameters: Object.entries(strategy.parameters).map(([name, parameter]) =>
      parameter.kind === 'list'
        ? {
            ...commonToWire(name, parameter),
            kind: parameter.kind,
            required: parameter.min > 0,
            min: parameter.min,
            max: parameter.max,
            parameters: Object.entries(parameter.item).map(([key, item]) => simpleToWire(key, item)),
          }
        : simpleToWire(name, parameter),
    ),
  };
}

type Simple = Exclude<StrategyParameter, { kind: 'list' }>;

const commonToWire = (name: string, { name: displayName, hint }: StrategyParameter) => ({
  name,
  display_name: displayName,
  ...(hint && { description: hint }),
});

function simpleToWire(name: string, parameter: Simple): v.InferOutput<typeof itemShape> {
  const { kind, name: _name, hint: _hint, optional, ...rest } = parameter;
  const { choices, ...facts } = 'choices' in rest ? rest : { ...rest, choices: undefined };
  return {
    ...commonToWire(name, parameter),
    kind,
    required: optional !== true && !('default' in facts),
    ...(facts as Omit<Partial<v.InferOutput<typeof itemShape>>, 'choices'>),
    ...(choices && {
      choices: Object.entries(choices).map(([value, displayName]) => ({ value, display_name: displayName })),
    }),
  };
}
