/**
 * Building blocks for query schemas. A query arrives as parameter name → list of raw values; every block
 * turns `undefined` (absent) and the empty string (absent too) into its default. Texts of failures name
 * what is allowed. Source: http-contract.md sections 1, 5 and 6.
 */
import * as v from 'valibot';
import { parseDurationMs } from '../../lib/duration.ts';
import { parseTimestampMs } from '../../lib/timestamp.ts';

const rawList = v.optional(v.array(v.string()), []);

/** First non-empty value, or undefined. */
const scalar = v.pipe(
  rawList,
  v.transform((values) => values.find((value) => value !== '')),
);

function parsed<Value>(parse: (text: string) => Value | undefined, expectation: string) {
  return v.pipe(
    scalar,
    v.rawTransform<string | undefined, Value | undefined>(({ dataset, addIssue, NEVER }) => {
      if (dataset.value === undefined) return undefined;
      const value = parse(dataset.value);
      if (value !== undefined) return value;
      addIssue({ message: `must be ${expectation}` });
      return NEVER;
    }),
  );
}

function withDefault<Schema extends v.GenericSchema, Fallback>(schema: Schema, fallback: Fallback) {
  return v.pipe(
    schema,
    v.transform((value) => value ?? fallback),
  );
}

export const text = () => parsed((value) => value, 'text');

/** All values of a list parameter, each also split at commas; blanks around items are ignored. */
export const list = () =>
  v.pipe(
    rawList,
    v.transform((values) =>
      values
        .flatMap((value) => value.split(','))
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    ),
  );

/** A list, or `undefined` when the parameter is absent or empty. */
export const optionalList = () =>
  v.pipe(
    list(),
    v.transform((items) => (items.length > 0 ? items : undefined)),
  );

const wholeNumber = (value: string): number | undefined =>
  /^\d{1,15}$/.test(value) ? Number(value) : undefined;

/** `limit`: absent → `fallback`; above `maximum` lowered to it, or refused when `strict`. */
export const limit = (fallback: number, maximum: number, strict = false) =>
  withDefault(
    parsed(
      (value) => {
        const count = wholeNumber(value);
        if (count === undefined || (strict && count > maximum)) return undefined;
        return Math.min(count, maximum);
      },
      strict ? `a whole number from 0 to ${maximum}` : 'a whole number, 0 or more',
    ),
    fallback,
  );

export const offset = () => withDefault(parsed(wholeNumber, 'a whole number, 0 or more'), 0);

/** One of the names in any case; returns the name as listed. */
export const choice = <const Name extends string>(names: readonly Name[], fallback: Name) =>
  withDefault(optionalChoice(names), fallback);

export const optionalChoice = <const Name extends string>(names: readonly Name[]) =>
  parsed(
    (value) => names.find((name) => name.toUpperCase() === value.toUpperCase()),
    `one of: ${names.join(', ')}`,
  );

/** A list of names in any case; unknown ones are refused. */
export const choices = <const Name extends string>(names: readonly Name[]) =>
  v.pipe(
    list(),
    v.rawTransform<string[], Name[]>(({ dataset, addIssue, NEVER }) => {
      const found: Name[] = [];
      for (const item of dataset.value) {
        const name = names.find((candidate) => candidate.toUpperCase() === item.toUpperCase());
        if (name === undefined) {
          addIssue({ message: `has unknown "${item}", must be of: ${names.join(', ')}` });
          return NEVER;
        }
        if (!found.includes(name)) found.push(name);
      }
      return found;
    }),
  );

const FLAGS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

export const flag = (fallback: boolean) =>
  withDefault(
    parsed((value) => FLAGS.get(value.toLowerCase()), 'true or false'),
    fallback,
  );

/** RFC 3339 → milliseconds since 1970. */
export const instant = () => parsed(parseTimestampMs, 'an RFC 3339 timestamp such as 2026-03-01T08:00:00Z');

export const durationMs = (fallbackMs: number, maximumMs: number) =>
  withDefault(
    parsed((value) => {
      const duration = parseDurationMs(value);
      return duration === undefined || duration > maximumMs ? undefined : duration;
    }, 'a duration such as 30s, 1.5m or 2h45m, at most 1y'),
    fallbackMs,
  );
