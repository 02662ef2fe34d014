/** JSON text of a Lua value, by the rules of docs/interface/lua-devices.md#values. Metamethods are not called. */
import { LIMITS } from '../../lib/limits.ts';
import { LUA_TYPE, type LuaStack } from './stack.ts';
import { jsonOf, LuaError } from './values.ts';
import type { Pointer } from './wasm.ts';

/**
 * The value at `index`. Tables with keys 1..n become arrays, and so do those of `table.pack`: with `n` beside them, where
 * absent items are null. All others become objects, the empty one `{}`.
 * @throws LuaError for what JSON cannot hold: functions, NaN, nesting beyond the limit (so every cycle), more
 * than `bytesMax` characters
 */
export function writeJson(stack: LuaStack, state: Pointer, index: number, bytesMax: number): string {
  const { exports } = stack;
  const at = index < 0 ? exports.lua_gettop(state) + index + 1 : index;
  return new Writer(stack, state, bytesMax).value(at, 0);
}

class Writer {
  readonly #stack: LuaStack;
  readonly #state: Pointer;
  #bytesLeft: number;

  constructor(stack: LuaStack, state: Pointer, bytesMax: number) {
    this.#stack = stack;
    this.#state = state;
    this.#bytesLeft = bytesMax;
  }

  value(index: number, depth: number): string {
    const { exports } = this.#stack;
    const type = exports.lua_type(this.#state, index);
    switch (type) {
      case LUA_TYPE.nil:
        return this.#count('null');
      case LUA_TYPE.boolean:
        return this.#count(exports.lua_toboolean(this.#state, index) === 0 ? 'false' : 'true');
      case LUA_TYPE.number:
        return this.#count(this.#number(index));
      case LUA_TYPE.string:
        return this.#count(JSON.stringify(this.#text(index)));
      case LUA_TYPE.table:
        return this.#table(index, depth + 1);
      default:
        throw new LuaError(`a ${this.#stack.typeName(type)} cannot be written as JSON`);
    }
  }

  #number(index: number): string {
    const { exports } = this.#stack;
    if (exports.lua_isinteger(this.#state, index) !== 0)
      return exports.lua_tointegerx(this.#state, index, 0).toString();
    return jsonOf(exports.lua_tonumberx(this.#state, index, 0));
  }

  #text(index: number): string {
    const [start, end] = this.#stack.stringRange(this.#state, index);
    return this.#stack.instance.bytes().toString('utf8', start, end);
  }

  #table(index: number, depth: number): string {
    const { jsonDepth } = LIMITS.lua;
    if (depth > jsonDepth) throw new LuaError(`a table is nested deeper than ${jsonDepth} levels`);
    this.#stack.reserve(this.#state, 4);
    const items = this.#listLength(index) || this.#packedLength(index);
    return items > 0 ? this.#array(index, items, depth) : this.#object(index, depth);
  }

  /** n when the keys are exactly 1..n, else 0. */
  #listLength(index: number): number {
    const { exports } = this.#stack;
    const items = Number(exports.lua_rawlen(this.#state, index));
    if (items === 0) return 0;
    let keys = 0;
    exports.lua_pushnil(this.#state);
    while (exports.lua_next(this.#state, index) !== 0) {
      exports.lua_settop(this.#state, -2);
      keys++;
      const isItem = exports.lua_isinteger(this.#state, -1) !== 0 && this.#isWithin(items);
      if (isItem && keys <= items) continue;
      exports.lua_settop(this.#state, -2);
      return 0;
    }
    return keys === items ? items : 0;
  }

  /** The integer `n` when all other keys are in 1..n and there is one at least, else 0. */
  #packedLength(index: number): number {
    const { exports } = this.#stack;
    const top = exports.lua_gettop(this.#state);
    let [items, last, keys] = [0, 0, 0];
    exports.lua_pushnil(this.#state);
    while (exports.lua_next(this.#state, index) !== 0) {
      const isItem = exports.lua_isinteger(this.#state, top + 1) !== 0;
      if (isItem && this.#integer(top + 1) >= 1) last = Math.max(last, this.#integer(top + 1));
      else if (!isItem && this.#isCount(top + 1)) items = this.#integer(top + 2);
      else {
        exports.lua_settop(this.#state, top);
        return 0;
      }
      keys++;
      exports.lua_settop(this.#state, top + 1);
    }
    // Each item takes a byte at least, so a longer list would not fit.
    return keys > 1 && last <= items && items <= this.#bytesLeft ? items : 0;
  }

  #integer(index: number): number {
    return Number(this.#stack.exports.lua_tointegerx(this.#state, index, 0));
  }

  /** The key `n` with an integer behind it. */
  #isCount(index: number): boolean {
    const { exports } = this.#stack;
    return (
      exports.lua_type(this.#state, index) === LUA_TYPE.string &&
      exports.lua_isinteger(this.#state, index + 1) !== 0 &&
      this.#text(index) === 'n'
    );
  }

  /** The integer key on top is in 1..n. */
  #isWithin(items: number): boolean {
    const key = this.#stack.exports.lua_tointegerx(this.#state, -1, 0);
    return key >= 1n && key <= BigInt(items);
  }

  #array(index: number, items: number, depth: number): string {
    const { exports } = this.#stack;
    const top = exports.lua_gettop(this.#state);
    let text = '[';
    for (let item = 1; item <= items; item++) {
      exports.lua_rawgeti(this.#state, index, BigInt(item));
      text += (item === 1 ? '' : ',') + this.value(top + 1, depth);
      exports.lua_settop(this.#state, top);
    }
    return this.#count(`${text}]`, items + 2);
  }

  #object(index: number, depth: number): string {
    const { exports } = this.#stack;
    const top = exports.lua_gettop(this.#state);
    let text = '{';
    exports.lua_pushnil(this.#state);
    while (exports.lua_next(this.#state, index) !== 0) {
      const key = this.#count(JSON.stringify(this.#key(top + 1)));
      text += `${text.length === 1 ? '' : ','}${key}:${this.value(top + 2, depth)}`;
      this.#count('', 2);
      exports.lua_settop(this.#state, top + 1);
    }
    return this.#count(`${text}}`, 2);
  }

  #key(index: number): string {
    const { exports } = this.#stack;
    const type = exports.lua_type(this.#state, index);
    // Asking a number for its text would turn the key itself into a string and derail `lua_next`.
    if (type === LUA_TYPE.string) return this.#text(index);
    if (type === LUA_TYPE.number) return this.#number(index);
    throw new LuaError(`a key of type ${this.#stack.typeName(type)} cannot be written as JSON`);
  }

  /** `ownBytes`: what of the text has not been counted with its parts. */
  #count(text: string, ownBytes = text.length): string {
    this.#bytesLeft -= ownBytes;
    if (this.#bytesLeft < 0) throw new LuaError('the value is too large to be written as JSON');
    return text;
  }
}
