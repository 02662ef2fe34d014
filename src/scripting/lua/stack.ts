/** The Lua stack of one instance: strings in and out, names of types. */
import { formatFloat, LuaError } from './values.ts';
import { LuaAbort, type LuaExports, type LuaInstance, type Pointer } from './wasm.ts';

/** Lua's numbers of places that are no places of the stack, in a build with LUAI_MAXSTACK 1 000 000. */
export const LUA_INDEX = { registry: -1_001_000 } as const;

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

const TYPE_NAMES = 'nil boolean userdata number string table function userdata thread'.split(' ');
/** Offsets in `lua_State` of Lua 5.4, 32 bit. */
const STATE = { top: 12, stack: 28 } as const;
const SLOT_BYTES = 16;
/** Calls of library functions by each other, at most. */
const LIBRARY_LEVELS_MAX = 8;
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

  /** The error value on top as text. Metamethods are not asked: nothing bounds them here. */
  errorText(state: Pointer): string {
    const { exports } = this;
    const type = exports.lua_type(state, -1);
    if (type === LUA_TYPE.string) {
      const [start, end] = this.stringRange(state, -1);
      return this.instance.bytes().toString('utf8', start, end);
    }
    // Lua would make a text of it in its own memory.
    if (type === LUA_TYPE.number && exports.lua_isinteger(state, -1) === 0)
      return formatFloat(exports.lua_tonumberx(state, -1, 0));
    if (type === LUA_TYPE.number) return exports.lua_tointegerx(state, -1, 0).toString();
    return `(error object is a ${this.typeName(type)} value)`;
  }

  /** Raises an error of the script at the function of this level, or the next that is not of our libraries. */
  raise(state: Pointer, message: string, fromLevel: number): number {
    const { exports } = this;
    this.#pushPosition(state, fromLevel);
    this.pushText(state, message);
    exports.lua_concat(state, 2);
    return exports.lua_error(state);
  }

  #pushPosition(state: Pointer, fromLevel: number): void {
    for (let level = fromLevel; level <= LIBRARY_LEVELS_MAX; level++) {
      this.exports.luaL_where(state, level);
      if (!this.errorText(state).startsWith(`${PRELUDE_NAME}:`)) return;
      this.exports.lua_settop(state, -2);
    }
    this.pushText(state, '');
  }

  /** In use by all calls of a coroutine. */
  slots(state: Pointer): number {
    return (this.instance.word(state + STATE.top) - this.instance.word(state + STATE.stack)) / SLOT_BYTES;
  }

  /** @throws LuaError when the stack cannot grow */
  reserve(state: Pointer, slots: number): void {
    if (this.exports.lua_checkstack(state, slots) === 0) throw new LuaError('not enough memory');
  }
}

/**
 * The part of the runtime that is written in Lua. Each library is a chunk that begins with the locals `host`, the
 * functions of the host, `kit`, what libraries share and scripts never see, and those of `KEPT`:
 *
 *   kit.library(name, library)  makes a library known to scripts, as a global and for `require`
 *   kit.check(value, type, …)   raises the error of a bad argument when the value has another type
 *   kit.wait(name)              a function that calls host function `name`, which waits, and returns its results
 *   kit.objects(what)           how objects that scripts get are made, and what each stands for
 *   kit.entries                 what the host can start as a task, by name
 */
export interface Library {
  name: string;
  source: string;
  /**
   * Chunks that few scripts need, by name: read when the first of their functions is called. Each returns its functions by
   * name. `kit.later(owner, part, ...)` puts functions of these names into a table of the script, which look the same
   * before and after.
   */
  parts?: Readonly<Record<string, string>>;
}

/** Functions that libraries may rely on: a script may change any global and any metatable it can reach. */
export const KEPT: Readonly<Record<string, string>> = {
  error: 'error',
  getmetatable: 'getmetatable',
  ipairs: 'ipairs',
  next: 'next',
  pairs: 'pairs',
  pcall: 'pcall',
  rawequal: 'rawequal',
  rawget: 'rawget',
  rawlen: 'rawlen',
  setmetatable: 'setmetatable',
  tonumber: 'tonumber',
  tostring: 'tostring',
  type: 'type',
  concat: 'table.concat',
  sort: 'table.sort',
  byte: 'string.byte',
  char: 'string.char',
  find: 'string.find',
  format: 'string.format',
  gsub: 'string.gsub',
  lower: 'string.lower',
  match: 'string.match',
  rep: 'string.rep',
  sub: 'string.sub',
  exp: 'math.exp',
  floor: 'math.floor',
  log: 'math.log',
  math_type: 'math.type',
  tointeger: 'math.tointeger',
  load: 'load',
  create: 'coroutine.create',
  resume: 'coroutine.resume',
  yield: 'coroutine.yield',
  status: 'coroutine.status',
  running: 'coroutine.running',
  isyieldable: 'coroutine.isyieldable',
  close: 'coroutine.close',
};

/** Text in front of every chunk but the base library. */
export const CHUNK_HEAD = `local host, kit, ${Object.keys(KEPT).join(', ')} = ...\n`;

/** Chunk name of all libraries; tracebacks leave it out. */
export const PRELUDE_NAME = '[host]';
