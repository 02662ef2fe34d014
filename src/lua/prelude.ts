/** The beginning of a state: the libraries in Lua, each with the functions of the host and a table that only libraries see. */
import { BASE_LIBRARY, type Library, PRELUDE_NAME } from './library.ts';
import { LUA_INDEX, type LuaStack } from './stack.ts';
import type { Pointer } from './wasm.ts';

/** What the host needs of the base library, in the registry of Lua. */
export interface References {
  tag: number;
  flags: number;
  entry: number;
}

interface PreludeOptions {
  /** Where functions of the host are called; each knows its place in `functions`. */
  callEntry: number;
  functions: readonly string[];
  libraries: readonly Library[];
}

/** @throws Error when a library does not run */
export function loadLibraries(stack: LuaStack, main: Pointer, options: PreludeOptions): References {
  const { exports } = stack;
  const { callEntry, functions, libraries } = options;
  exports.lua_createtable(main, 0, functions.length);
  for (const [index, name] of functions.entries()) {
    stack.pushText(main, name);
    exports.lua_pushinteger(main, BigInt(index));
    exports.lua_pushcclosure(main, callEntry, 1);
    exports.lua_rawset(main, 1);
  }
  exports.lua_createtable(main, 0, 0);
  load(stack, main, BASE_LIBRARY, 3);
  // On top of the tables: entry, flags, tag.
  const entry = exports.luaL_ref(main, LUA_INDEX.registry);
  const flags = exports.luaL_ref(main, LUA_INDEX.registry);
  const tag = exports.luaL_ref(main, LUA_INDEX.registry);
  for (const library of libraries) load(stack, main, library, 0);
  exports.lua_settop(main, 0);
  return { tag, flags, entry };
}

function load(stack: LuaStack, main: Pointer, library: Library, results: number): void {
  const { exports, instance } = stack;
  const source = Buffer.from(library.source);
  const buffer = instance.allocate(source);
  const name = instance.allocate(Buffer.from(`=${PRELUDE_NAME}`));
  const loaded = exports.luaL_loadbufferx(main, buffer, source.length, name, 0);
  exports.free(buffer);
  exports.free(name);
  exports.lua_pushvalue(main, 1);
  exports.lua_pushvalue(main, 2);
  const status = loaded === 0 ? exports.lua_pcallk(main, 2, results, 0, 0, 0) : loaded;
  if (status !== 0) throw new Error(`library ${library.name} does not run: ${stack.errorText(main)}`);
}
