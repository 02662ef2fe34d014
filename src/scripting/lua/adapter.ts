/**
 * JavaScript functions as entries of an instance's function table. Only WebAssembly functions fit there, so a
 * tiny module passes three imports through as exports: `c`, a C function of Lua, `h`, a hook, and `m`, the meter.
 */
import { METER } from './wasm-meter.ts';
import type { LuaInstance, Pointer } from './wasm.ts';

interface Entries {
  call: (state: Pointer) => number;
  hook: (state: Pointer, debug: Pointer) => void;
  meter: (state: Pointer, mayRaise: number) => void;
}

const BYTES = Uint8Array.from(
  [
    // Magic and version.
    [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00],
    // Types: (i32) -> i32, (i32, i32) -> nothing.
    [0x01, 0x0b, 0x02, 0x60, 0x01, 0x7f, 0x01, 0x7f, 0x60, 0x02, 0x7f, 0x7f, 0x00],
    // Imports e.c, e.h and e.m.
    [0x02, 0x13, 0x03, 0x01, 0x65, 0x01, 0x63, 0x00, 0x00],
    [0x01, 0x65, 0x01, 0x68, 0x00, 0x01, 0x01, 0x65, 0x01, 0x6d, 0x00, 0x01],
    // Exports c, h and m.
    [0x07, 0x0d, 0x03, 0x01, 0x63, 0x00, 0x00, 0x01, 0x68, 0x00, 0x01, 0x01, 0x6d, 0x00, 0x02],
  ].flat(),
);

let compiled: WebAssembly.Module | undefined;

/** Adds all of them to the table and returns the indices of the first two, which are the same in every instance. */
export function addFunctions(instance: LuaInstance, functions: Entries): { call: number; hook: number } {
  compiled ??= new WebAssembly.Module(BYTES);
  const imports = { c: functions.call, h: functions.hook, m: functions.meter };
  const adapter = new WebAssembly.Instance(compiled, { e: imports });
  const { c, h, m } = adapter.exports as { c: unknown; h: unknown; m: unknown };
  const table = instance.exports.__indirect_function_table;
  const call = table.grow(3);
  const hook = call + 1;
  if (hook + 1 !== METER.entry)
    throw new Error('the table of functions has another length than the file says');
  table.set(call, c);
  table.set(hook, h);
  table.set(METER.entry, m);
  return { call, hook };
}
