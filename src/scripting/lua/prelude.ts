/** Loads the libraries that are written in Lua into a new state. */
import { BASE_LIBRARY } from './libraries/base.ts';
import { CHUNK_HEAD, type Library, LUA_INDEX, LuaStack, PRELUDE_NAME } from './stack.ts';
import type { HostFunction } from './task.ts';
import { LuaError } from './values.ts';
import { LuaInstance, type Pointer } from './wasm.ts';

/** Values of the base library that the host needs, in the registry of Lua. */
export interface References {
  tag: number;
  flags: number;
  entry: number;
}

/** Compiled libraries, which all states of a kind share. */
export interface Prelude {
  chunks: readonly Buffer[];
  /** Chunks that are loaded when they are first called. */
  parts: ReadonlyMap<string, Buffer>;
}

const NAME = Buffer.from(`=${PRELUDE_NAME}\0`);

interface PreludeOptions {
  /** Entry in the table of functions that calls the host; each function knows its place in `functions`. */
  callEntry: number;
  functions: readonly string[];
  prelude: Prelude;
}

/** `memoryBytes`: that of the states, so that one module serves all. @throws Error for a library that does not compile */
export function compileLibraries(libraries: readonly Library[], memoryBytes: number): Prelude {
  const compiler = new Compiler(memoryBytes);
  const compiled = (source: string): Buffer => compiler.compiled(CHUNK_HEAD + source);
  const parts = [BASE_LIBRARY, ...libraries].flatMap((library) => Object.entries(library.parts ?? {}));
  return {
    chunks: [compiler.compiled(BASE_LIBRARY.source), ...libraries.map(({ source }) => compiled(source))],
    parts: new Map(parts.map(([name, source]) => [name, compiled(source)])),
  };
}

/** @throws Error when a library does not run */
export function loadLibraries(stack: LuaStack, main: Pointer, options: PreludeOptions): References {
  const { exports } = stack;
  const { callEntry, functions, prelude } = options;
  const [base, ...others] = prelude.chunks;
  exports.lua_createtable(main, 0, functions.length);
  for (const [index, name] of functions.entries()) {
    stack.pushText(main, name);
    exports.lua_pushinteger(main, BigInt(index));
    exports.lua_pushcclosure(main, callEntry, 1);
    exports.lua_rawset(main, 1);
  }
  exports.lua_createtable(main, 0, 0);
  loadChunk(stack, main, base ?? NAME);
  exports.lua_pushvalue(main, 1);
  exports.lua_pushvalue(main, 2);
  call(stack, main, 2, 4);
  // On top of the tables: begin, entry, flags, tag.
  const begin = exports.luaL_ref(main, LUA_INDEX.registry);
  const entry = exports.luaL_ref(main, LUA_INDEX.registry);
  const flags = exports.luaL_ref(main, LUA_INDEX.registry);
  const tag = exports.luaL_ref(main, LUA_INDEX.registry);
  for (const chunk of others) {
    exports.lua_rawgeti(main, LUA_INDEX.registry, BigInt(begin));
    loadChunk(stack, main, chunk);
    call(stack, main, 1, 0);
  }
  exports.luaL_unref(main, LUA_INDEX.registry, begin);
  exports.lua_settop(main, 0);
  return { tag, flags, entry };
}

/** Stands for the function of the host that loads a part, which `pushPart` does. */
export const PART: HostFunction = () => [];

/** Pushes a part of the libraries, as a function. @throws LuaError when there is no memory for it */
export function pushPart(stack: LuaStack, state: Pointer, { parts }: Prelude, name = ''): number {
  const chunk = parts.get(name);
  if (chunk === undefined) throw new Error(`the libraries have no part ${name}`);
  return loadChunk(stack, state, chunk) ? 1 : stack.exports.lua_error(state);
}

/** Pushes the function, or an error of Lua. False: an error. @throws LuaError when there is no memory for the text */
function loadChunk({ exports, instance }: LuaStack, state: Pointer, chunk: Uint8Array): boolean {
  const bytes = exports.malloc(NAME.length + chunk.length);
  if (bytes === 0) throw new LuaError('not enough memory');
  instance.bytes().set(NAME, bytes);
  instance.bytes().set(chunk, bytes + NAME.length);
  const status = exports.luaL_loadbufferx(state, bytes + NAME.length, chunk.length, bytes, 0);
  exports.free(bytes);
  return status === 0;
}

function call(stack: LuaStack, main: Pointer, values: number, results: number): void {
  if (stack.exports.lua_pcallk(main, values, results, 0, 0, 0) !== 0)
    throw new Error(`a library does not run: ${stack.errorText(main)}`);
}

/** Compiles libraries in a state of its own, so that other states do not keep the memory that this takes. */
class Compiler {
  readonly #stack: LuaStack;
  readonly #main: Pointer;

  constructor(memoryBytes: number) {
    const instance = new LuaInstance({ memoryBytes });
    this.#stack = new LuaStack(instance);
    this.#main = instance.exports.luaL_newstate();
    instance.exports.luaL_openlibs(this.#main);
    loadChunk(this.#stack, this.#main, Buffer.from('return string.dump(...)'));
  }

  compiled(source: string): Buffer {
    const { exports, instance } = this.#stack;
    exports.lua_pushvalue(this.#main, 1);
    if (!loadChunk(this.#stack, this.#main, Buffer.from(source)))
      throw new Error(`a library does not compile: ${this.#stack.errorText(this.#main)}`);
    call(this.#stack, this.#main, 1, 1);
    const [start, end] = this.#stack.stringRange(this.#main, -1);
    const chunk = Buffer.from(instance.bytes().subarray(start, end));
    exports.lua_settop(this.#main, 1);
    return chunk;
  }
}
