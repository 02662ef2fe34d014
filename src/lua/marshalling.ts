/** Reads and pushes values on a Lua stack. Pushing belongs inside a protected call of Lua: memory may end. */
import { LIMITS } from '../lib/limits.ts';
import { readJson } from './json-reader.ts';
import { writeJson } from './json-writer.ts';
import { LUA_TYPE, type LuaStack } from './stack.ts';
import { LuaError, LuaJson, type LuaResult, type LuaValue } from './values.ts';
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
      return Buffer.from(stack.instance.bytes().subarray(start, end));
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
  else if (value instanceof LuaJson) readJson(stack, state, value.byteText);
  else stack.pushBytes(state, value);
}
