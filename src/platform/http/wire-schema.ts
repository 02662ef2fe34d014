/**
 * What the API description says of a value on the wire where the valibot schema that parses it cannot tell:
 * texts that are parsed into numbers, one schema behind a transformation. Also the shapes that many answers
 * share. Source of the grammars: docs/interface/http.md#values.
 */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { nameProblem, normalizedName } from '../../lib/text.ts';
import { ROLES } from '../../lib/role.ts';

/** JSON Schema, draft 2020-12. */
export type WireSchema = Readonly<Record<string, unknown>>;

/**
 * Says what a value looks like on the wire: as JSON Schema, or as the valibot schema of it. Stands in a pipe
 * before the first transformation and replaces what came before.
 */
export function wire<Input>(
  shape: WireSchema | v.GenericSchema,
): v.MetadataAction<Input, { wire: WireSchema | v.GenericSchema }> {
  return v.metadata({ wire: shape });
}

/** Texts with a grammar, as requests carry them. */
export const WIRE = {
  duration: {
    type: 'string',
    pattern: '^(0|((\\d+\\.?\\d*|\\.\\d+)(ns|us|µs|μs|ms|s|m|h|d|y))+)$',
    maxLength: 64,
    description: 'Numbers with units ns, us, ms, s, m, h, d (24 h) and y (365 d).',
    examples: ['1m30s'],
  },
  timestamp: {
    type: 'string',
    format: 'date-time',
    description: 'RFC 3339 with any offset; without an offset it is UTC.',
    examples: ['2026-03-01T08:00:00Z'],
  },
  /** Of devices and rules. */
  slug: {
    type: 'string',
    pattern: '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$',
    description: 'Not in the form of a UUID.',
    examples: ['battery-1'],
  },
} as const satisfies Record<string, WireSchema>;

/** A name that a person gives, as it is stored; empty ones may pass. */
export function name(options: { mayBeEmpty?: boolean } = {}) {
  const { nameLength } = LIMITS.http;
  return v.pipe(
    v.string(),
    wire({
      type: 'string',
      ...(!options.mayBeEmpty && { minLength: 1 }),
      maxLength: nameLength,
      description: 'Blanks around it are dropped; nothing in it may be invisible.',
    }),
    v.transform(normalizedName),
    v.minLength(options.mayBeEmpty ? 0 : 1, 'must not be empty'),
    v.check(
      (text) => nameProblem(text) === undefined,
      ({ input }) => nameProblem(input) ?? '',
    ),
    // Characters as JSON Schema counts them, not units of UTF-16.
    v.check((text) => Array.from(text).length <= nameLength, `must have at most ${nameLength} characters`),
  );
}

/** The same schema, but not for lists: they pass as objects otherwise. */
export function noList<Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(
    v.unknown(),
    wire(schema),
    v.check((value) => !Array.isArray(value), 'must be an object'),
    schema,
  );
}

/** null is the same as absent: clients send it for what they leave as it is. */
export function unlessNull<Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(
    v.nullish(schema),
    v.transform((value) => value ?? undefined),
  );
}

/**
 * An object of any names, kept as sent. `v.record` loses the names `__proto__`, `prototype` and `constructor`, so that a
 * caller would not hear of them.
 */
export function anyNames(example: Record<string, unknown>) {
  return v.pipe(
    v.custom<Record<string, unknown>>(
      (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      'must be an object',
    ),
    wire({ type: 'object', additionalProperties: true, examples: [example] }),
  );
}

/** Gives a shape the name under which the description shows it, and an example. */
export function named<Schema extends v.GenericSchema>(
  name: string,
  schema: Schema,
  ...examples: v.InferInput<Schema>[]
) {
  return v.pipe(schema, v.metadata({ title: name, ...(examples.length > 0 && { examples }) }));
}

/** A whole body as a caller would really send it; without it the description puts one together from its members. */
export function example<Input>(value: unknown): v.MetadataAction<Input, { examples: unknown[] }> {
  return v.metadata({ examples: [value] });
}

export const id = () => v.pipe(v.string(), v.uuid());

/** RFC 3339 in UTC with `Z` and fraction digits. */
export const instant = () => v.pipe(v.string(), v.isoTimestamp(), v.examples(['2026-03-01T08:00:00.123Z']));

export const count = () => v.pipe(v.number(), v.integer(), v.minValue(0));

/** Whole Unix seconds. */
export const unixSeconds = () =>
  v.pipe(v.number(), v.integer(), v.minValue(0), v.description('Unix seconds.'), v.examples([1_772_352_000]));

export const role = () => v.picklist(ROLES);

/** Any members. */
export const anyObject = () => v.record(v.string(), v.unknown());

/** A page of a list: the plural, and how many there are without paging. */
export function listOf<const Name extends string, Item extends v.GenericSchema>(name: Name, item: Item) {
  const items = { [name]: v.array(item) } as Record<Name, v.ArraySchema<Item, undefined>>;
  return v.object({ ...items, total_count: count() });
}

/** A whole JSON document of a format of its own. */
export const WHOLE_DOCUMENT = v.pipe(anyObject(), v.description('The document.'));

/** `{}`: an operation without a result. */
export const nothing = () => v.object({});
