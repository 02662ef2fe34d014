/**
 * What the API description says of a value on the wire where the valibot schema that parses it cannot tell:
 * texts that are parsed into numbers, one schema behind a transformation. Also the shapes that many answers
 * share. Source of the grammars: docs/interface/http.md#values.
 */
import * as v from 'valibot';
import { LIMITS } from '../../lib/limits.ts';
import { type Camel, camel, isObject } from '../../lib/members.ts';
import { memoized } from '../../lib/memoized.ts';
import { isSlug, nameProblem, normalizedName } from '../../lib/text.ts';
import { ROLES } from '../../lib/role.ts';
import { formatTimestamp } from '../../lib/time.ts';

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
  /** `from` and `to` in a query, where numbers are texts. */
  instant: {
    type: 'string',
    description: 'RFC 3339 with any offset, without one UTC; or Unix seconds.',
    examples: ['2026-03-01T08:00:00Z'],
  },
  /** Slugs of devices and rules. */
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

/** Reads what was given; undefined: it is not what is expected. */
export function parsed<Input, Output>(parse: (value: Input) => Output | undefined, expectation: string) {
  return v.rawTransform<Input, Output>(({ dataset, addIssue, NEVER }) => {
    const value = parse(dataset.value);
    if (value !== undefined) return value;
    addIssue({ message: `must be ${expectation}` });
    return NEVER;
  });
}

/** A check of a whole object whose fault is that of one member. */
export function requireMember<Value extends object>(
  lacking: (value: Value) => { name: string; why: string } | undefined,
) {
  return v.rawCheck<Value>(({ dataset, addIssue }) => {
    const fault = dataset.typed ? lacking(dataset.value) : undefined;
    if (!dataset.typed || !fault) return;
    const { value: input } = dataset;
    const path = { type: 'object', origin: 'value', input, key: fault.name, value: undefined } as const;
    addIssue({ message: fault.why, path: [path as unknown as v.IssuePathItem] });
  });
}

/** null is the same as absent: clients send it for what they leave as it is. */
export function unlessNull<Schema extends v.GenericSchema>(schema: Schema) {
  return v.pipe(
    v.nullish(schema),
    v.transform((value) => value ?? undefined),
  );
}

/** null, absent and the empty text mean "as it is" or "make one" (docs/interface/http.md#empty-values). */
export function unlessEmpty<Schema extends v.GenericSchema<string, string>>(schema: Schema) {
  return v.pipe(
    v.nullish(v.string()),
    wire(v.nullish(v.union([schema, v.literal('')]))),
    v.transform((text) => (text ? text : undefined)),
    v.optional(schema),
  );
}

/** Slug of a device or rule. */
export const slug = () =>
  v.pipe(
    v.string(),
    wire(WIRE.slug),
    v.check(isSlug, 'must be 1 to 64 letters, digits, - or _, begin with a letter or digit, and be no UUID'),
  );

/**
 * An object of any names, kept as sent. `v.record` drops the names `__proto__`, `prototype` and `constructor` silently.
 */
export function anyNames(example: Record<string, unknown>) {
  return v.pipe(
    v.custom<Record<string, unknown>>(isObject, 'must be an object'),
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

/** The same schema, with a sentence on it for the API description. */
export function about<Schema extends v.GenericSchema>(schema: Schema, sentence: string) {
  return v.pipe(schema, v.description(sentence));
}

/** A whole body as a caller would really send it; without it the description puts one together from its members. */
export function example<Input>(value: unknown): v.MetadataAction<Input, { examples: unknown[] }> {
  return v.metadata({ examples: [value] });
}

export const id = () => v.pipe(v.string(), v.uuid());

/** RFC 3339 in UTC with `Z` and fraction digits. */
export const instant = () => v.pipe(v.string(), v.isoTimestamp(), v.examples(['2026-03-01T08:00:00.123Z']));

/** A text that is not empty. */
export const text = (lengthMax: number) => v.pipe(v.string(), v.minLength(1), v.maxLength(lengthMax));

export const whole = (minimum: number, maximum: number) =>
  v.pipe(v.number(), v.integer(), v.minValue(minimum), v.maxValue(maximum));

export const oneOf = <const Names extends readonly string[]>(names: Names) =>
  v.picklist(names, `must be one of: ${names.join(', ')}`);

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

/** The member of a record that fills a member of a shape: of the same name, `is…` for a statement, `…Ms` for a moment. */
type SaidBy<Name extends string, Value> = Extract<
  Camel<Name> | `is${Capitalize<Camel<Name>>}` | `${Camel<Name>}Ms`,
  keyof Value
>;

type Said<Name extends string, Member, Value, OnWire> =
  | (Member extends `${Camel<Name>}Ms` ? string : NonNullable<Value>)
  | (Extract<Value, null | undefined> extends never ? never : undefined extends OnWire ? undefined : null);

/**
 * The members of a shape that a record has under their names: the one place where records get the names and forms of the
 * wire. A moment becomes a timestamp; what is not there is null where the shape has null, and else absent.
 */
export function filled<Entries extends v.ObjectEntries, Value extends object>(
  { entries }: { readonly entries: Entries },
  record: Value,
): {
  [Name in keyof Entries & string as SaidBy<Name, Value> extends never ? never : Name]: Said<
    Name,
    SaidBy<Name, Value>,
    Value[SaidBy<Name, Value>],
    v.InferOutput<Entries[Name]>
  >;
} {
  const given = record as Readonly<Record<string, unknown>>;
  const members: [name: string, value: unknown][] = [];
  for (const { name, inside, isInside, insideMs, isNullable } of namesOf(entries)) {
    const atMs = given[insideMs] as number | null | undefined;
    const value =
      given[inside] ??
      given[isInside] ??
      (atMs === undefined || atMs === null ? undefined : formatTimestamp(atMs));
    if (value !== undefined) members.push([name, value]);
    else if (isNullable) members.push([name, null]);
  }
  return Object.fromEntries(members) as never;
}

/** Where the members of a shape stand in records, found once for each shape. */
const namesOf = memoized((entries: v.ObjectEntries) =>
  Object.entries(entries).map(([name, { type }]) => {
    const inside = camel(name);
    return {
      name,
      inside,
      isInside: `is${inside.charAt(0).toUpperCase()}${inside.slice(1)}`,
      insideMs: `${inside}Ms`,
      isNullable: type === 'nullable',
    };
  }),
);
