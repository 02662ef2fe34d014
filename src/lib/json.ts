/**
 * JSON of others, parsed by the runtime. Numbers are never changed silently: whole numbers beyond 2^53 come as `bigint`
 * where that is asked for, and `unstorableNumber` finds what neither a 64-bit integer nor a float holds. Pure.
 */

export interface JsonLimits {
  /** UTF-16 units of one key. */
  keyLength: number;
  /** Levels of objects and arrays, the outermost included. */
  depth: number;
  /** Values of all levels together, objects and arrays included. */
  values: number;
}

/** The text is JSON, but more than the limits allow; `message` follows "A message". */
export class JsonExcess extends Error {}

/** Says where a text stops being JSON; repeats nothing of it, because it may be secret. */
export class JsonFault extends SyntaxError {
  /** Offset of the first token that is not allowed; the length of a text that ends too early. */
  readonly offset: number;

  constructor(offset: number, length: number) {
    super(offset === length ? 'it ends too early' : `an unexpected character at position ${offset}`);
    this.offset = offset;
  }
}

/** The third argument of a reviver: for a plain value the text it was written as. */
interface ReviverContext {
  source?: string;
}
type Reviver = (key: string, value: unknown, context: ReviverContext) => unknown;

/** A whole number of fewer digits is exact in JavaScript. */
const LONG_INTEGER = /\d{16}/;
/** A text without either has no number beyond a 64-bit integer or beyond the largest float. */
const LARGE_NUMBER = /\d{16}|\d[eE]\+?\d/;
const INTEGER = /^-?\d+$/;
/** The largest finite number has fewer digits; the time to make a `bigint` grows with the square of their number. */
const DIGITS_MAX = 310;

/** JSON.parse within limits. @throws JsonFault, JsonExcess */
export function parseJson(text: string, limits?: JsonLimits): unknown {
  return parseWithin(text, undefined, limits);
}

/** As `parseJson`, with integer literals beyond 2^53 as `bigint`. @throws JsonFault, JsonExcess */
export function parseExactJson(text: string, limits?: JsonLimits): unknown {
  return parseWithin(text, LONG_INTEGER.test(text) ? exactInteger : undefined, limits);
}

/**
 * Parses JSON for what is only handed on: written again, integers beyond 2^53 have all their digits, and half a
 * surrogate pair, at which strict readers give the whole message up, is U+FFFD. @throws JsonFault
 */
export function parseWritableJson(text: string): unknown {
  const value = parseExactJson(wellFormedJson(text));
  return LONG_INTEGER.test(text) ? writableJson(value) : value;
}

/** Arguments of a script in the form that a request over HTTP has. */
export function writableArguments(given: Record<string, unknown>): Record<string, unknown> {
  return parseWritableJson(exactJson(given)) as Record<string, unknown>;
}

function parseWithin(text: string, reviver: Reviver | undefined, limits: JsonLimits | undefined): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new JsonFault(faultOffset(text), text.length);
  }
  if (limits) new LimitCheck(limits).check(value, 1);
  return reviver ? revived(text, reviver) : value;
}

/** Unlike parsing, reviving takes stack for each level. */
function revived(text: string, reviver: Reviver): unknown {
  try {
    return JSON.parse(text, reviver as (key: string, value: unknown) => unknown);
  } catch (error) {
    if (error instanceof RangeError) throw new JsonExcess('has too many levels');
    throw error;
  }
}

function exactInteger(_key: string, value: unknown, { source = '' }: ReviverContext): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value;
  return source.length > DIGITS_MAX || !INTEGER.test(source) ? value : BigInt(source);
}

class LimitCheck {
  readonly #limits: JsonLimits;
  #values = 0;

  constructor(limits: JsonLimits) {
    this.#limits = limits;
  }

  check(value: unknown, level: number): void {
    const { values, depth, keyLength } = this.#limits;
    if (++this.#values > values) throw new JsonExcess(`has more than ${values} values`);
    if (typeof value !== 'object' || value === null) return;
    if (level > depth) throw new JsonExcess(`has more than ${depth} levels`);
    if (Array.isArray(value)) {
      for (const item of value) this.check(item, level + 1);
      return;
    }
    for (const key in value) {
      if (key.length > keyLength) throw new JsonExcess(`has a key of more than ${keyLength} characters`);
      this.check((value as Record<string, unknown>)[key], level + 1);
    }
  }
}

/** Each escape; of those that write a half of a surrogate pair, both halves together where they are a pair. */
const ESCAPE =
  /\\(?:u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|u[dD][89a-fA-F][\da-fA-F]{2}|.)/gs;
const SURROGATE = /\\u[dD][89a-fA-F]/;
const LONE_LENGTH = 6;

/** Every escape for half a surrogate pair becomes the one for U+FFFD: as it is, no UTF-8 holds it. */
export function wellFormedJson(text: string): string {
  if (!SURROGATE.test(text)) return text;
  return text.replace(ESCAPE, (escape) => (escape.length === LONE_LENGTH ? String.raw`\ufffd` : escape));
}

const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

export function isInt64(value: bigint): boolean {
  return value >= INT64_MIN && value <= INT64_MAX;
}

interface UnstorableNumber {
  /** Names and positions from the outside, joined by dots; empty for the value itself. */
  path: string;
  /** True for an integer of more than 64 bits; false for a number that is not finite. */
  isInteger: boolean;
}

/** The first number of a parsed value that would be changed by being stored: not finite, or a `bigint` beyond 64 bits. */
export function unstorableNumber(value: unknown, path = ''): UnstorableNumber | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : { path, isInteger: false };
  if (typeof value === 'bigint') return isInt64(value) ? undefined : { path, isInteger: true };
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const fault = unstorableNumber(item, path === '' ? key : `${path}.${key}`);
    if (fault) return fault;
  }
  return undefined;
}

/** The first number in a JSON text that would be changed by being stored. @throws JsonFault, JsonExcess */
export function unstorableNumberOf(text: string): UnstorableNumber | undefined {
  return LARGE_NUMBER.test(text) ? unstorableNumber(parseExactJson(text)) : undefined;
}

interface RawJson {
  rawJSON(text: string): unknown;
}

/** JSON text with whole numbers of up to 64 bits written exactly; larger ones have an exponent, as only floats have. */
export function exactJson(value: unknown): string {
  // Without a function for each member it is several times as fast, and there is hardly ever so large a number.
  const text = quickJson(value);
  if (text !== undefined && !LONG_INTEGER.test(text)) return text;
  return JSON.stringify(value, (_key, item: unknown) => (isLarge(item) ? exactNumber(item) : item)) ?? 'null';
}

/** Undefined: there is a bigint in it. */
function quickJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value) ?? 'null';
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return undefined;
  }
}

/** JavaScript writes a float so large with the fewest digits that identify it, and fills up with zeros. */
function isLarge(item: unknown): item is bigint | number {
  return typeof item === 'bigint' || (Number.isInteger(item) && !Number.isSafeInteger(item));
}

/** A number that JSON.stringify writes exactly. */
function exactNumber(value: bigint | number): unknown {
  const isFloat = typeof value === 'number' && !isInt64(BigInt(value));
  return (JSON as unknown as RawJson).rawJSON(isFloat ? value.toExponential() : BigInt(value).toString());
}

/** A copy that JSON.stringify writes exactly: in place of a `bigint` stands what writes its digits. */
export function writableJson(value: unknown): unknown {
  if (typeof value === 'bigint') return exactNumber(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(writableJson);
  // A member may be called `__proto__`.
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, writableJson(item)]));
}

type Expected = 'value' | 'first value' | 'key' | 'first key' | 'colon' | 'rest';

const WORD = /true|false|null|-?(?:0(?!\d)|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const CLOSING: Record<string, string> = { '{': '}', '[': ']' };

/** Offset of the first token at which `text`, which is no JSON, stops being JSON. */
function faultOffset(text: string): number {
  const open: string[] = [];
  let expected: Expected = 'value';
  let at = 0;
  for (;;) {
    while (' \t\n\r'.includes(text[at] ?? 'x')) at++;
    const character = text[at] ?? '';
    const container = open.at(-1) ?? '';
    const mayClose = expected === 'rest' || expected.startsWith('first');
    if (mayClose && character === CLOSING[container]) {
      open.pop();
      at++;
      expected = 'rest';
    } else if (expected === 'rest' || expected === 'colon') {
      if (character !== (expected === 'colon' ? ':' : ',') || container === '') return at;
      at++;
      if (expected === 'colon') expected = 'value';
      else expected = container === '{' ? 'key' : 'value';
    } else if (!expected.endsWith('key') && character in CLOSING) {
      open.push(character);
      at++;
      expected = character === '{' ? 'first key' : 'first value';
    } else {
      const isKey = expected.endsWith('key');
      const { end, fault } = plainValue(text, at, isKey);
      if (fault !== undefined) return fault;
      at = end;
      expected = isKey ? 'colon' : 'rest';
    }
  }
}

/** Where a string, a number or a word ends, or where it is wrong. */
function plainValue(text: string, start: number, isKey: boolean): { end: number; fault?: number } {
  if (text[start] !== '"') {
    WORD.lastIndex = start;
    return !isKey && WORD.test(text) ? { end: WORD.lastIndex } : { end: start, fault: start };
  }
  for (let at = start + 1; ; at++) {
    const code = text.charCodeAt(at);
    if (code === 0x22) return { end: at + 1, ...escapeFault(text, start, at + 1) };
    if (code === 0x5c) at++;
    else if (!(code >= 0x20)) return { end: at, fault: Math.min(at, text.length) };
  }
}

function escapeFault(text: string, start: number, end: number): { fault?: number } {
  try {
    JSON.parse(text.slice(start, end));
    return {};
  } catch {
    return { fault: start };
  }
}
