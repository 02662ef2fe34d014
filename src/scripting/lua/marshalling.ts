/** Reads and pushes values on a Lua stack. Pushing belongs inside a protected call of Lua: memory may end. */
import { LIMITS } from '../../lib/limits.ts';
import { readJson } from './json-reader.ts';
import { writeJson } from './json-writer.ts';
import { LUA_TYPE, type LuaStack } from './stack.ts';
import { LuaData, LuaError, LuaJson, type LuaResult, type LuaValue } from './values.ts';
import type { Pointer } from './wasm.ts';

/** @throws LuaError for a value that does not cross */
function readValue(stack: LuaStack, state: Pointer, index: number): LuaValue {
  const { exports } = stack;
  const type = exports.lua_type(state, index);
  switch (type) {
    case LUA_TYPE.none:
    case LUA_TYPE.nil:
      return undefined;
    case LUA_TYPE.boolean:
      return exports.lua_toboolean(state, index) !== 0;
    case LUA_TYPE.number:
      return exports.lua_isinteger(state, index) === 0
        ? exports.lua_tonumberx(state, index, 0)
        : exports.lua_tointegerx(state, index, 0);
    case LUA_TYPE.string: {
      const [start, end] = stack.stringRange(state, index);
      const text = Buffer.allocUnsafe(end - start);
      stack.instance.bytes().copy(text, 0, start, end);
      return text;
    }
    case LUA_TYPE.table:
      return new LuaJson(writeJson(stack, state, index, LIMITS.lua.jsonBytes));
    default:
      throw new LuaError(`a ${stack.typeName(type)} cannot be handed over`);
  }
}

/** All values from `first` to the top. */
export function readValues(stack: LuaStack, state: Pointer, first: number): LuaValue[] {
  const values: LuaValue[] = [];
  const top = stack.exports.lua_gettop(state);
  for (let index = first; index <= top; index++) values.push(readValue(stack, state, index));
  return values;
}

/** @throws LuaError for JSON text that is none, and when memory ends */
export function pushValue(stack: LuaStack, state: Pointer, value: LuaResult): void {
  const { exports } = stack;
  if (value === undefined) exports.lua_pushnil(state);
  else if (typeof value === 'boolean') exports.lua_pushboolean(state, value ? 1 : 0);
  else if (typeof value === 'bigint') exports.lua_pushinteger(state, value);
  else if (typeof value === 'number') exports.lua_pushnumber(state, value);
  else if (typeof value === 'string') stack.pushText(state, value);
  else if (value instanceof LuaData) pushData(stack, state, value.value, 0);
  else if (value instanceof LuaJson) readJson(stack, state, value.byteText, value.onLeftOut);
  else stack.pushBytes(state, value);
}

const INTEGER_BITS = 64;

/** Pushed as JSON text would give it: whole numbers are integers, those beyond 64 bits floats, null is nil. */
function pushData(stack: LuaStack, state: Pointer, value: unknown, depth: number): void {
  const { exports } = stack;
  if (typeof value === 'string') stack.pushText(state, value);
  else if (typeof value === 'number') pushNumber(stack, state, value);
  else if (typeof value === 'boolean') exports.lua_pushboolean(state, value ? 1 : 0);
  else if (typeof value === 'bigint') pushInteger(stack, state, value);
  else if (typeof value !== 'object' || value === null) exports.lua_pushnil(state);
  else pushTable(stack, state, value, depth + 1);
}

function pushTable(stack: LuaStack, state: Pointer, value: object, depth: number): void {
  const { exports } = stack;
  const { jsonDepth } = LIMITS.lua;
  if (depth > jsonDepth) throw new LuaError(`the JSON text is nested deeper than ${jsonDepth} levels`);
  stack.reserve(state, 4);
  if (Array.isArray(value)) {
    exports.lua_createtable(state, 0, 0);
    for (const [index, item] of value.entries()) {
      pushData(stack, state, item, depth);
      exports.lua_rawseti(state, -2, BigInt(index + 1));
    }
    return;
  }
  const keys = Object.keys(value);
  exports.lua_createtable(state, 0, keys.length);
  for (const key of keys) {
    stack.pushText(state, key);
    pushData(stack, state, (value as Record<string, unknown>)[key], depth);
    exports.lua_rawset(state, -3);
  }
}

/** A whole number is an integer as far as 64 bits hold it. */
function pushNumber(stack: LuaStack, state: Pointer, value: number): void {
  if (Number.isInteger(value) && Math.abs(value) <= 2 ** (INTEGER_BITS - 1))
    pushInteger(stack, state, BigInt(value));
  else if (Number.isFinite(value)) stack.exports.lua_pushnumber(state, value);
  else stack.exports.lua_pushnil(state);
}

function pushInteger(stack: LuaStack, state: Pointer, value: bigint): void {
  if (BigInt.asIntN(INTEGER_BITS, value) === value) stack.exports.lua_pushinteger(state, value);
  else stack.exports.lua_pushnumber(state, Number(value));
}
