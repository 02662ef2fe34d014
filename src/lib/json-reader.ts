/**
 * Reads JSON from outside within limits: reading stops at the first excess, so that its cost is bounded by the limits
 * and not by what a message can hold. Short objects of plain values, which most devices send, are left to `JSON.parse`,
 * which is three times as fast. Pure.
 */

export interface JsonLimits {
  /** UTF-16 units of one key. */
  keyLength: number;
  /** Levels of objects and arrays, the outermost included. */
  depth: number;
  /** Values of all levels together, objects and arrays included. */
  values: number;
}

interface JsonReading {
  limits: JsonLimits;
  /** Integers beyond 2^53 come as `bigint` instead of rounded. */
  exact: boolean;
  /** Takes the words NaN, Infinity and -Infinity, which some encoders write, as the numbers they mean. */
  nonFinite: boolean;
  /** Half of a surrogate pair, which an escape can write, comes as U+FFFD: as it is, no UTF-8 holds it. */
  wellFormed: boolean;
}

/** The same as `JSON.parse`. */
export const PLAIN_JSON: JsonReading = {
  limits: { keyLength: Infinity, depth: Infinity, values: Infinity },
  exact: false,
  nonFinite: false,
  wellFormed: false,
};

/** The text is JSON, but more than the limits allow; `message` follows "A message". */
export class JsonExcess extends Error {}

/** Says where a text stops being JSON; repeats nothing of it, because it may be secret. */
export class JsonFault extends SyntaxError {
  /** Of the first token that is not allowed; the length of a text that ends too early. */
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

/**
 * The same as `JSON.parse`, apart from the options.
 * @throws JsonFault, JsonExcess
 */
export function readJson(text: string, reading: JsonReading): unknown {
  return readFlat(text, reading) ?? new JsonReader(text, reading).read();
}

/** A flat object without escapes; undefined for a text that must be read character by character. */
function readFlat(text: string, { limits, exact }: JsonReading): Record<string, unknown> | undefined {
  // A value takes two characters at least.
  if (text.charCodeAt(0) !== 0x7b || text.length > limits.values || limits.depth < 1) return undefined;
  if (text.includes('{', 1) || text.includes('[') || text.includes('\\')) return undefined;
  let object: Record<string, unknown>;
  try {
    object = JSON.parse(text) as Record<string, unknown>;
  } catch {
    // The reader says where.
    return undefined;
  }
  for (const key in object) {
    if (key.length > limits.keyLength) return undefined;
    const value = object[key];
    if (exact && typeof value === 'number' && !(Math.abs(value) <= Number.MAX_SAFE_INTEGER)) return undefined;
  }
  return object;
}

/** A whole number of so many digits is always exact in JavaScript. */
const EXACT_DIGITS = 15;
/** The largest finite number has fewer digits; the time to make a `bigint` grows with the square of their number. */
const DIGITS_MAX = 309;
/** Shorter slices are copies; longer ones would keep the whole text in memory for as long as they live. */
const COPIED_LENGTH = 12;

const REST_OF_NUMBER = /(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

class JsonReader {
  readonly #text: string;
  readonly #reading: JsonReading;
  #at = 0;
  #values = 0;

  constructor(text: string, reading: JsonReading) {
    this.#text = text;
    this.#reading = reading;
  }

  read(): unknown {
    const value = this.#value(1);
    if (!Number.isNaN(this.#next())) throw this.#unexpected();
    return value;
  }

  #value(depth: number): unknown {
    const { values } = this.#reading.limits;
    if (++this.#values > values) throw new JsonExcess(`has more than ${values} values`);
    switch (this.#next()) {
      case 0x22:
        return this.#string();
      case 0x7b:
        return this.#object(depth);
      case 0x5b:
        return this.#array(depth);
      case 0x74:
        return this.#word('true', true);
      case 0x66:
        return this.#word('false', false);
      case 0x6e:
        return this.#word('null', null);
      case 0x4e:
        return this.#nonFinite('NaN', Number.NaN);
      case 0x49:
        return this.#nonFinite('Infinity', Number.POSITIVE_INFINITY);
      default:
        return this.#number();
    }
  }

  /** Skips blanks; the code of the character after them, NaN at the end. */
  #next(): number {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return code;
      this.#at++;
    }
  }

  #object(depth: number): Record<string, unknown> {
    const { limits } = this.#reading;
    if (depth > limits.depth) throw new JsonExcess(`has more than ${limits.depth} levels`);
    const object: Record<string, unknown> = {};
    this.#at++;
    if (this.#next() === 0x7d) return this.#closed(object);
    for (;;) {
      if (this.#next() !== 0x22) throw this.#unexpected();
      const key = this.#string();
      if (key.length > limits.keyLength)
        throw new JsonExcess(`has a key of more than ${limits.keyLength} characters`);
      if (this.#next() !== 0x3a) throw this.#unexpected();
      this.#at++;
      const value = this.#value(depth + 1);
      if (key === '__proto__') Object.defineProperty(object, key, { value, ...OWN });
      else object[key] = value;
      if (this.#next() === 0x7d) return this.#closed(object);
      this.#comma();
    }
  }

  #array(depth: number): unknown[] {
    const { limits } = this.#reading;
    if (depth > limits.depth) throw new JsonExcess(`has more than ${limits.depth} levels`);
    const array: unknown[] = [];
    this.#at++;
    if (this.#next() === 0x5d) return this.#closed(array);
    for (;;) {
      array.push(this.#value(depth + 1));
      if (this.#next() === 0x5d) return this.#closed(array);
      this.#comma();
    }
  }

  #closed<Value>(value: Value): Value {
    this.#at++;
    return value;
  }

  #comma(): void {
    if (this.#text.charCodeAt(this.#at) !== 0x2c) throw this.#unexpected();
    this.#at++;
  }

  #string(): string {
    const start = this.#at;
    let hasEscapes = false;
    for (let at = start + 1; ; at++) {
      const code = this.#text.charCodeAt(at);
      if (code === 0x22) {
        this.#at = at + 1;
        if (!hasEscapes && at - start <= COPIED_LENGTH) return this.#text.slice(start + 1, at);
        return this.#unescaped(start, at + 1);
      }
      if (code === 0x5c) {
        hasEscapes = true;
        at++;
      } else if (!(code >= 0x20)) {
        this.#at = at;
        throw this.#unexpected();
      }
    }
  }

  #unescaped(start: number, end: number): string {
    try {
      const text = JSON.parse(this.#text.slice(start, end)) as string;
      return this.#reading.wellFormed ? text.toWellFormed() : text;
    } catch {
      this.#at = start;
      throw this.#unexpected();
    }
  }

  #word<Value>(word: string, value: Value): Value {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected();
    this.#at += word.length;
    return value;
  }

  #nonFinite(word: string, value: number): number {
    if (!this.#reading.nonFinite) throw this.#unexpected();
    return this.#word(word, value);
  }

  #number(): number | bigint {
    const text = this.#text;
    const start = this.#at;
    const isNegative = text.charCodeAt(start) === 0x2d;
    const first = isNegative ? start + 1 : start;
    let at = first;
    let whole = 0;
    for (
      let digit = text.charCodeAt(at) - 0x30;
      digit >= 0 && digit <= 9;
      digit = text.charCodeAt(++at) - 0x30
    )
      whole = whole * 10 + digit;
    const digits = at - first;
    if (digits === 0) return this.#negativeInfinity(isNegative, first);
    if (digits > 1 && text.charCodeAt(first) === 0x30) throw this.#unexpected();
    REST_OF_NUMBER.lastIndex = at;
    REST_OF_NUMBER.test(text);
    const end = REST_OF_NUMBER.lastIndex;
    this.#at = end;
    if (end > at) return Number(text.slice(start, end));
    if (digits <= EXACT_DIGITS) return isNegative ? -whole : whole;
    const literal = text.slice(start, end);
    const rounded = Number(literal);
    const isExact = !this.#reading.exact || digits > DIGITS_MAX || Number.isSafeInteger(rounded);
    return isExact ? rounded : BigInt(literal);
  }

  #negativeInfinity(isNegative: boolean, at: number): number {
    if (!isNegative || this.#text.charCodeAt(at) !== 0x49) throw this.#unexpected();
    this.#at = at;
    return this.#nonFinite('Infinity', Number.NEGATIVE_INFINITY);
  }

  #unexpected(): JsonFault {
    const offset = Math.min(this.#at, this.#text.length);
    const isEnd = offset === this.#text.length;
    return new JsonFault(
      offset,
      isEnd ? 'it ends too early' : `an unexpected character at position ${offset}`,
    );
  }
}

const OWN = { writable: true, enumerable: true, configurable: true };
