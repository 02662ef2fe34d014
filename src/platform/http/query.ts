/**
 * Building blocks for query schemas. A query arrives as parameter name → list of raw values; every block
 * turns `undefined` (absent) and the empty string (absent too) into its default. Texts of failures name
 * what is allowed. Each block carries what the API description says of it (`wire`), because the raw values
 * are all texts; `about` is the sentence that it says of the parameter. Source: docs/interface/http.md#values and docs/interface/http.md#lists.
 */
import * as v from 'valibot';
import {
  type DurationMs,
  formatDurationMs,
  parseDurationMs,
  parseInstantMs,
  parseTimestampMs,
} from '../../lib/time.ts';
import { LIMITS } from '../../lib/limits.ts';
import { parsed as parsedText, wire, WIRE, type WireSchema } from './wire-schema.ts';

const rawList = v.optional(v.array(v.string()), []);

function parsed<Value>(parse: (text: string) => Value | undefined, expectation: string, shape: WireSchema) {
  return v.pipe(
    rawList,
    wire(shape),
    // First non-empty value, or undefined.
    v.transform((values) => values.find((value) => value !== '')),
    v.optional(v.pipe(v.string(), parsedText(parse, expectation))),
  );
}

function withDefault<Schema extends v.GenericSchema, Fallback>(schema: Schema, fallback: Fallback) {
  return v.pipe(
    schema,
    v.transform((value) => value ?? fallback),
  );
}

/** With the sentence before what the grammar of the value says. */
function described(about: string, shape: WireSchema): WireSchema {
  const grammar = typeof shape['description'] === 'string' ? ` ${shape['description']}` : '';
  return about === '' ? shape : { ...shape, description: `${about}${grammar}` };
}

export const text = (about = '') => parsed((value) => value, 'text', described(about, { type: 'string' }));

/** All values of a list parameter, each also split at commas; blanks around items are ignored. */
export const list = (about = '', item: WireSchema = { type: 'string' }) =>
  v.pipe(
    rawList,
    wire(described(about, { type: 'array', items: item })),
    v.transform((values) =>
      values
        .flatMap((value) => value.split(','))
        .map((item) => item.trim())
        .filter((item) => item !== ''),
    ),
  );

/** A list, or `undefined` when the parameter is absent or empty. */
export const optionalList = (about = '') =>
  v.pipe(
    list(about),
    v.transform((items) => (items.length > 0 ? items : undefined)),
  );

/** No list is as long, and SQLite still takes it as a whole number. */
const OFFSET_MAX = 999_999_999_999_999;

/** Above `most` the same as `most`; more than `allowed` is refused. */
const wholeNumber = (value: string, most: number, allowed = Infinity): number | undefined =>
  /^\d+$/.test(value) && Number(value) <= allowed ? Math.min(Number(value), most) : undefined;

const SKIPPED = 'So many items at the start are left out.';

/** `limit`: absent → `fallback`; above `maximum` lowered to it, or refused when `strict`. */
export const limit = (fallback: number, maximum: number, strict = false) =>
  withDefault(
    parsed(
      (value) => wholeNumber(value, maximum, strict ? maximum : Infinity),
      strict ? `a whole number from 0 to ${maximum}` : 'a whole number, 0 or more',
      {
        type: 'integer',
        minimum: 0,
        ...(strict && { maximum }),
        description: `At most so many items${strict ? '' : `; above ${maximum} is the same as ${maximum}`}. 0: none, only their number.`,
        default: fallback,
      },
    ),
    fallback,
  );

export const offset = () => number(SKIPPED);

/** A whole number from 0 on. */
export const number = (about: string) =>
  withDefault(
    parsed((value) => wholeNumber(value, OFFSET_MAX), 'a whole number, 0 or more', {
      type: 'integer',
      minimum: 0,
      description: about,
      default: 0,
    }),
    0,
  );

/** Members `limit` and `offset` of a list. */
export const page = (fallback: number = LIMITS.http.pageItems) => ({
  limit: limit(fallback, LIMITS.http.pageItems),
  offset: offset(),
});

/** The query of a list without filters. */
export const pageQuery = v.object(page());

/** One of the names in any case; returns the name as listed. */
export const choice = <const Name extends string>(names: readonly Name[], fallback: Name, about = '') =>
  withDefault(optionalChoice(names, described(about, { default: fallback })), fallback);

/** `more`: what the description says beside the names. */
export const optionalChoice = <const Name extends string>(names: readonly Name[], more: WireSchema = {}) =>
  parsed(
    (value) => names.find((name) => name.toUpperCase() === value.toUpperCase()),
    `one of: ${names.join(', ')}`,
    { type: 'string', enum: names, ...more },
  );

/** A list of names in any case; unknown ones are refused. */
export const choices = <const Name extends string>(names: readonly Name[], about = '') =>
  v.pipe(
    list(about, { type: 'string', enum: names }),
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

/** The same, or `undefined` when the parameter is absent or empty. */
export const optionalChoices = <const Name extends string>(names: readonly Name[], about = '') =>
  v.pipe(
    choices(names, about),
    v.transform((found) => (found.length > 0 ? found : undefined)),
  );

const FLAGS = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

export const flag = (fallback: boolean, about = '') =>
  withDefault(optionalFlag(described(about, { default: fallback })), fallback);

/** `more`: what the description says besides. */
export const optionalFlag = (more: WireSchema = {}) =>
  parsed((value) => FLAGS.get(value.toLowerCase()), 'true or false', { type: 'boolean', ...more });

/** RFC 3339 → milliseconds since 1970. */
export const instant = (about = '') =>
  parsed(
    (value) => parseTimestampMs(withPlus(value)),
    'an RFC 3339 timestamp such as 2026-03-01T08:00:00Z',
    described(about, WIRE.timestamp),
  );

/** `from` and `to`: RFC 3339 or Unix seconds → milliseconds since 1970. */
export const bound = (about = '') =>
  parsed(
    (value) => parseInstantMs(withPlus(value)),
    'Unix seconds or an RFC 3339 timestamp such as 2026-03-01T08:00:00Z',
    described(about, WIRE.instant),
  );

/** A plus that was not encoded arrives as a blank. */
const withPlus = (text: string): string => text.replace(/ (?=\d\d:\d\d$)/, '+');

export const durationMs = (fallbackMs: DurationMs, maximumMs: DurationMs, about = '') =>
  withDefault(
    parsed(
      (value) => {
        const duration = parseDurationMs(value);
        return duration === undefined || duration > maximumMs ? undefined : duration;
      },
      'a duration such as 30s, 1.5m or 2h45m, at most 1y',
      described(about, { ...WIRE.duration, default: formatDurationMs(fallbackMs) }),
    ),
    fallbackMs,
  );
