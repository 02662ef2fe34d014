/**
 * Reads JSON (RFC 8259) straight into Lua values, so that a large document takes memory of the script and not
 * of its host: 8 MiB would take up to 345 MB of it through `JSON.parse`. Integers stay integers, and those of more than
 * 64 bits are refused, as are numbers beyond the largest float; null is nil.
 */
import { isInt64 } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { repairedJson } from '../../lib/repaired-json.ts';
import type { LuaStack } from './stack.ts';
import { LuaError } from './values.ts';
import type { Pointer } from './wasm.ts';

/**
 * Pushes one value. `text` holds a byte per character. With `onLeftOut` text that is no JSON is repaired first, and the
 * names of values without a meaning are handed over. @throws LuaError for anything else that is no JSON
 */
export function readJson(
  stack: LuaStack,
  state: Pointer,
  text: string,
  onLeftOut?: (names: readonly string[]) => void,
): void {
  if (text.length > LIMITS.lua.jsonBytes) throw new LuaError('the JSON text is too large');
  const { exports } = stack;
  const top = exports.lua_gettop(state);
  try {
    new Reader(stack, state, text).document();
  } catch (error) {
    const repaired = onLeftOut && error instanceof InvalidJson ? repairedJson(text) : undefined;
    if (!repaired) throw error;
    exports.lua_settop(state, top);
    new Reader(stack, state, repaired.text).document();
    if (repaired.leftOut.length > 0) onLeftOut?.(repaired.leftOut);
  }
}

class InvalidJson extends LuaError {}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const NOT_INTEGER = /[.eE]/;
const HEX = /^[0-9a-fA-F]{4}$/;
const [QUOTE, BACKSLASH, FIRST_PLAIN] = [0x22, 0x5c, 0x20];
const ESCAPES: Record<string, string> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};
/** Longer ones are no 64-bit integers. */
const INTEGER_LENGTH_MAX = 20;

class Reader {
  readonly #stack: LuaStack;
  readonly #state: Pointer;
  readonly #text: string;
  #at = 0;

  constructor(stack: LuaStack, state: Pointer, text: string) {
    this.#stack = stack;
    this.#state = state;
    this.#text = text;
  }

  document(): void {
    this.#value(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) this.#fail();
  }

  #value(depth: number): void {
    const { exports } = this.#stack;
    this.#skipSpace();
    switch (this.#text[this.#at]) {
      case '{':
        this.#object(depth + 1);
        break;
      case '[':
        this.#array(depth + 1);
        break;
      case '"':
        this.#stack.pushByteText(this.#state, this.#string());
        break;
      case 't':
        this.#word('true');
        exports.lua_pushboolean(this.#state, 1);
        break;
      case 'f':
        this.#word('false');
        exports.lua_pushboolean(this.#state, 0);
        break;
      case 'n':
        this.#word('null');
        exports.lua_pushnil(this.#state);
        break;
      default:
        this.#number();
    }
  }

  #object(depth: number): void {
    const { exports } = this.#stack;
    this.#open(depth);
    if (this.#skips('}')) return;
    do {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') this.#fail();
      this.#stack.pushByteText(this.#state, this.#string());
      if (!this.#skips(':')) this.#fail();
      this.#value(depth);
      exports.lua_rawset(this.#state, -3);
    } while (this.#skips(','));
    if (!this.#skips('}')) this.#fail();
  }

  #array(depth: number): void {
    const { exports } = this.#stack;
    this.#open(depth);
    if (this.#skips(']')) return;
    let item = 0n;
    do {
      this.#value(depth);
      exports.lua_rawseti(this.#state, -2, ++item);
    } while (this.#skips(','));
    if (!this.#skips(']')) this.#fail();
  }

  #open(depth: number): void {
    const { jsonDepth } = LIMITS.lua;
    if (depth > jsonDepth) throw new LuaError(`the JSON text is nested deeper than ${jsonDepth} levels`);
    this.#at++;
    this.#stack.reserve(this.#state, 4);
    this.#stack.exports.lua_createtable(this.#state, 0, 0);
  }

  #string(): string {
    this.#at++;
    let value = this.#plain();
    for (;;) {
      const character = this.#text[this.#at++];
      if (character === '"') return value;
      if (character !== '\\') this.#fail(1);
      value += this.#escape() + this.#plain();
    }
  }

  /** Bytes of the escape behind a backslash. */
  #escape(): string {
    const character = this.#text[this.#at++] ?? '';
    if (character !== 'u') return ESCAPES[character] ?? this.#fail(1);
    let unit = this.#hex();
    let text = String.fromCharCode(unit);
    if (unit >= 0xd800 && unit < 0xdc00 && this.#text.startsWith('\\u', this.#at)) {
      const before = this.#at;
      this.#at += 2;
      unit = this.#hex();
      if (unit >= 0xdc00 && unit < 0xe000) text += String.fromCharCode(unit);
      else this.#at = before;
    }
    // Half a pair becomes U+FFFD here.
    return Buffer.from(text).toString('latin1');
  }

  #hex(): number {
    const digits = this.#text.slice(this.#at, this.#at + 4);
    if (!HEX.test(digits)) this.#fail();
    this.#at += digits.length;
    return Number.parseInt(digits, 16);
  }

  #number(): void {
    const { exports } = this.#stack;
    NUMBER.lastIndex = this.#at;
    if (!NUMBER.test(this.#text)) this.#fail();
    const literal = this.#text.slice(this.#at, NUMBER.lastIndex);
    this.#at = NUMBER.lastIndex;
    if (NOT_INTEGER.test(literal)) {
      const float = Number(literal);
      if (!Number.isFinite(float)) this.#refuse('a number that is not finite', literal);
      exports.lua_pushnumber(this.#state, float);
      return;
    }
    const integer = literal.length <= INTEGER_LENGTH_MAX ? BigInt(literal) : undefined;
    if (integer === undefined || !isInt64(integer)) this.#refuse('an integer of more than 64 bits', literal);
    else exports.lua_pushinteger(this.#state, integer);
  }

  #word(word: string): void {
    if (!this.#text.startsWith(word, this.#at)) this.#fail();
    this.#at += word.length;
  }

  #skips(character: string): boolean {
    this.#skipSpace();
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    while (' \t\n\r'.includes(this.#text[this.#at] ?? 'x')) this.#at++;
  }

  /** A run without escapes. */
  #plain(): string {
    const start = this.#at;
    for (; this.#at < this.#text.length; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code === QUOTE || code === BACKSLASH || code < FIRST_PLAIN) break;
    }
    return this.#text.slice(start, this.#at);
  }

  #refuse(what: string, literal: string): never {
    throw new LuaError(`the JSON text has ${what} at byte ${this.#at - literal.length + 1}`);
  }

  #fail(back = 0): never {
    const at = Math.min(this.#at - back, this.#text.length);
    throw new InvalidJson(
      at >= this.#text.length ? 'invalid JSON: the text ends too early' : `invalid JSON at byte ${at + 1}`,
    );
  }
}
