/** Building blocks of the shapes of a template. */
import * as v from 'valibot';
import { nearNameHint } from '../../lib/text.ts';

export const name = v.pipe(
  v.string(),
  v.regex(/^[a-z][a-z0-9_]*$/, 'must be snake_case, such as total_power'),
);
export const text = v.pipe(v.string(), v.regex(/\S/, 'must not be empty'));
/** YAML has infinite numbers, and neither the wire nor JSON. */
export const number = v.pipe(v.number(), v.finite('must be a finite number'));
export const scalar = v.union([v.string(), number, v.boolean()]);
/** Which word of a number in several registers comes first. */
export const wordOrder = v.picklist(['high_first', 'low_first']);

/** An object with these keys and no other; an unknown key is answered with the one that it is like, or with all. */
export const shape = <const Entries extends v.ObjectEntries>(entries: Entries) =>
  v.strictObject(entries, ({ path }) => {
    const known = Object.keys(entries);
    const hint = nearNameHint(String(path?.at(-1)?.key), known);
    return `unknown key${hint === '' ? `; known here: ${known.join(', ')}` : hint}`;
  });

type Shape = v.GenericSchema & { entries: v.ObjectEntries };

/** One of several shapes, chosen by the keys that a value has, so that a mistake is named within that shape. */
export const chosenBy = <const Options extends readonly v.GenericSchema[]>(
  options: Options,
  choose: (has: (key: string) => boolean) => Options[number],
) =>
  Object.assign(
    v.lazy<Options[number]>((input) =>
      choose((key) => typeof input === 'object' && input !== null && key in input),
    ),
    { options },
  );

/** One of several shapes, distinguished by the first key of each. */
export const oneOf = <const Options extends readonly Shape[]>(...options: Options) => {
  const keys = options.map(({ entries }) => Object.keys(entries)[0] ?? '');
  const none = v.never(`must have one of ${keys.join(', ')}`);
  const all: readonly (Options[number] | typeof none)[] = options;
  return chosenBy(all, (has) => all.find((_, index) => has(keys[index] ?? '')) ?? none);
};
