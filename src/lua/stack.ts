/** The Lua stack of one instance: strings in and out, names of types. */
import { LuaError } from './values.ts';
import { LuaAbort, type LuaExports, type LuaInstance, type Pointer } from './wasm.ts';

/** Lua's numbers of its types. */
export const LUA_TYPE = {
  none: -1,
  nil: 0,
  boolean: 1,
  number: 3,
  string: 4,
  table: 5,
  function: 6,
} as const;

const TYPE_NAMES = [
  'nil',
  'boolean',
  'userdata',
  'number',
  'string',
  'table',
  'function',
  'userdata',
  'thread',
];
/** Strings up to here are handed over through a buffer that is always there. */
const SCRATCH_BYTES = 16_384;
/** In front of it: room for a length that Lua writes. */
const LENGTH_BYTES = 16;

export class LuaStack {
  readonly instance: LuaInstance;
  readonly exports: LuaExports;
  /** A word that Lua may write a length into. */
  readonly length: Pointer;
  readonly #scratch: Pointer;

  constructor(instance: LuaInstance) {
    this.instance = instance;
    this.exports = instance.exports;
    this.length = instance.exports.malloc(LENGTH_BYTES + SCRATCH_BYTES);
    if (this.length === 0) throw new LuaAbort('not enough memory');
    this.#scratch = this.length + LENGTH_BYTES;
  }

  typeName(type: number): string {
    return TYPE_NAMES[type] ?? 'nil';
  }

  /** Where the bytes of the string at `index` lie; valid until Lua runs again. The value must be a string. */
  stringRange(state: Pointer, index: number): [start: Pointer, end: Pointer] {
    const start = this.exports.lua_tolstring(state, index, this.length);
    return [start, start + this.instance.word(this.length)];
  }

  /** As UTF-8. */
  pushText(state: Pointer, text: string): void {
    // A UTF-16 unit has at most three bytes in UTF-8.
    if (text.length * 3 <= SCRATCH_BYTES) {
      const sizeBytes = this.instance.bytes().write(text, this.#scratch, 'utf8');
      this.exports.lua_pushlstring(state, this.#scratch, sizeBytes);
    } else this.pushBytes(state, Buffer.from(text));
  }

  /** Every character is one byte. */
  pushByteText(state: Pointer, text: string): void {
    if (text.length > SCRATCH_BYTES) {
      this.pushBytes(state, Buffer.from(text, 'latin1'));
      return;
    }
    this.instance.bytes().write(text, this.#scratch, 'latin1');
    this.exports.lua_pushlstring(state, this.#scratch, text.length);
  }

  /** @throws LuaError when there is no memory for them */
  pushBytes(state: Pointer, bytes: Uint8Array): void {
    const { exports } = this;
    const pointer = bytes.length <= SCRATCH_BYTES ? this.#scratch : exports.malloc(bytes.length);
    if (pointer === 0) throw new LuaError('not enough memory');
    try {
      this.instance.bytes().set(bytes, pointer);
      exports.lua_pushlstring(state, pointer, bytes.length);
    } finally {
      if (pointer !== this.#scratch) exports.free(pointer);
    }
  }

  /** @throws LuaError when the stack cannot grow */
  reserve(state: Pointer, slots: number): void {
    if (this.exports.lua_checkstack(state, slots) === 0) throw new LuaError('not enough memory');
  }
}
