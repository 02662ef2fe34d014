/**
 * JavaScript functions as entries of an instance's function table. Only WebAssembly functions fit there, so a
 * tiny module passes two imports through as exports: `c`, a C function of Lua, and `h`, a hook.
 */
import type { LuaInstance, Pointer } from './wasm.ts';

const BYTES = Uint8Array.from(
  [
    // Magic and version.
    [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    // Types: (i32) -> i32, (i32, i32) -> nothing.
    [0x01, 0x0b, 0x02, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x60, 0x02, 0x7f, 0x7f, 0x00],
    // Imports e.c and e.h.
    [0x02, 0x0d, 0x02, 0x01, 0x65, 0x01, 0x63, 0x00, 0x00, 0x01, 0x65, 0x01, 0x68, 0x00, 0x01],
    // Exports c and h.
    [0x07, 0x09, 0x02, 0x01, 0x63, 0x00, 0x00, 0x01, 0x68, 0x00, 0x01],
  ].flat(),
);

let compiled: WebAssembly.Module | undefined;

/** Adds both to the table and returns their indices, which are the same in every instance. */
export function addFunctions(
  instance: LuaInstance,
  functions: { call: (state: Pointer) => number; hook: (state: Pointer) => void },
): { call: number; hook: number } {
  compiled ??= new WebAssembly.Module(BYTES);
  const adapter = new WebAssembly.Instance(compiled, { e: { c: functions.call, h: functions.hook } });
  const { c, h } = adapter.exports as { c: unknown; h: unknown };
  const table = instance.exports.__indirect_function_table;
  const call = table.grow(2);
  table.set(call, c);
  table.set(call + 1, h);
  return { call, hook: call + 1 };
}
