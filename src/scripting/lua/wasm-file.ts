/**
 * The WebAssembly file of package wasmoon, fitted before it is compiled: memory has the bounds of a script, and
 * only what this binding calls is exported. C functions without bound count their steps.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import {
  fuelExport,
  globalsWithFuel,
  meteredCode,
  numberBytes,
  Reader,
  sized,
  unknownFile,
} from './wasm-meter.ts';

/** Addresses in the memory of the instance; 0 is NULL. */
export type Pointer = number;

/** Stands for an export, of which only the type is needed here. */
const of = <Type>(none?: Type): Type => none as Type;

/**
 * The exports of the file that are used, with their types: pointers and ints are numbers, 64-bit integers bigints. Each
 * costs every instance some 250 bytes of JavaScript, and the file has three times as many.
 */
const USED = {
  memory: of<WebAssembly.Memory>(),
  __indirect_function_table: of<WebAssembly.Table>(),
  __wasm_call_ctors: of<() => void>(),
  emscripten_stack_init: of<() => void>(),
  stackSave: of<() => Pointer>(),
  stackRestore: of<(pointer: Pointer) => void>(),
  setThrew: of<(threw: number, value: number) => void>(),
  malloc: of<(sizeBytes: number) => Pointer>(),
  free: of<(pointer: Pointer) => void>(),
  luaL_newstate: of<() => Pointer>(),
  luaL_openlibs: of<(state: Pointer) => void>(),
  luaL_loadbufferx:
    of<(state: Pointer, buffer: Pointer, sizeBytes: number, name: Pointer, mode: Pointer) => number>(),
  luaL_ref: of<(state: Pointer, table: number) => number>(),
  luaL_unref: of<(state: Pointer, table: number, reference: number) => void>(),
  luaL_where: of<(state: Pointer, level: number) => void>(),
  lua_checkstack: of<(state: Pointer, slots: number) => number>(),
  lua_concat: of<(state: Pointer, count: number) => void>(),
  lua_createtable: of<(state: Pointer, items: number, fields: number) => void>(),
  lua_error: of<(state: Pointer) => number>(),
  lua_getinfo: of<(state: Pointer, what: Pointer, debug: Pointer) => number>(),
  lua_getstack: of<(state: Pointer, level: number, debug: Pointer) => number>(),
  lua_gettop: of<(state: Pointer) => number>(),
  lua_isinteger: of<(state: Pointer, index: number) => number>(),
  lua_isyieldable: of<(state: Pointer) => number>(),
  lua_newthread: of<(state: Pointer) => Pointer>(),
  lua_next: of<(state: Pointer, index: number) => number>(),
  lua_pcallk:
    of<
      (
        state: Pointer,
        values: number,
        results: number,
        handler: number,
        context: number,
        continuation: number,
      ) => number
    >(),
  lua_pushboolean: of<(state: Pointer, value: number) => void>(),
  lua_pushcclosure: of<(state: Pointer, entry: number, upvalues: number) => void>(),
  lua_pushinteger: of<(state: Pointer, value: bigint) => void>(),
  lua_pushlstring: of<(state: Pointer, bytes: Pointer, sizeBytes: number) => Pointer>(),
  lua_pushnil: of<(state: Pointer) => void>(),
  lua_pushnumber: of<(state: Pointer, value: number) => void>(),
  lua_pushvalue: of<(state: Pointer, index: number) => void>(),
  lua_rawgeti: of<(state: Pointer, index: number, key: bigint) => number>(),
  lua_rawlen: of<(state: Pointer, index: number) => bigint>(),
  lua_rawset: of<(state: Pointer, index: number) => void>(),
  lua_rawseti: of<(state: Pointer, index: number, key: bigint) => void>(),
  lua_resume: of<(state: Pointer, from: Pointer, values: number, results: Pointer) => number>(),
  lua_sethook: of<(state: Pointer, hook: number, mask: number, count: number) => void>(),
  lua_settop: of<(state: Pointer, index: number) => void>(),
  lua_toboolean: of<(state: Pointer, index: number) => number>(),
  lua_tointegerx: of<(state: Pointer, index: number, isNumber: Pointer) => bigint>(),
  lua_tolstring: of<(state: Pointer, index: number, length: Pointer) => Pointer>(),
  lua_tonumberx: of<(state: Pointer, index: number, isNumber: Pointer) => number>(),
  lua_type: of<(state: Pointer, index: number) => number>(),
  lua_yieldk: of<(state: Pointer, results: number, context: number, continuation: number) => number>(),
};

/** Exports of an instance. */
export type LuaExports = typeof USED & {
  /** Counter that the loops of the C library count down (wasm-meter.ts). */
  fuel: WebAssembly.Global;
};

const PAGE_BYTES = 65_536;
/** The file's static data, C stack and first heap fit into 2 MiB. */
const FIRST_PAGES = 32;
const HEADER_BYTES = 8;
const SECTION = { import: 2, table: 4, memory: 5, global: 6, export: 7, code: 10 } as const;
/** Content of the file's section "table": `1 table of functions, no maximum, 198 entries`. */
const TABLE = Buffer.from([0x01, 0x70, 0x00, 0xc6, 0x01]);
/** Content of the file's section "memory": `1 memory, with maximum, 256 pages, 32 768 pages`. */
const MEMORY = Buffer.from([0x01, 0x01, 0x80, 0x02, 0x80, 0x80, 0x02]);

const compiled = new Map<number, WebAssembly.Module>();

/**
 * The compiled module whose instances never have more memory than this; one per size and thread. The maximum
 * is written into the module itself: an instance reserves addresses for it, and two gigabytes each, as the file
 * says, are more than a small board has for a hundred scripts.
 * @throws Error when the file is another one than this binding was made for
 */
export function luaModule(memoryBytes: number): WebAssembly.Module {
  const pages = Math.max(FIRST_PAGES, Math.floor(memoryBytes / PAGE_BYTES));
  return compiled.getOrInsertComputed(pages, () => new WebAssembly.Module(luaFile(pages)));
}

function luaFile(maximumPages: number): Buffer {
  const file = readFileSync(createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm'));
  const parts: Buffer[] = [file.subarray(0, HEADER_BYTES)];
  const reader = new Reader(file, HEADER_BYTES);
  let imports = 0;
  while (!reader.isAtEnd) {
    const section = reader.byte();
    const content = reader.bytes(reader.number());
    // All that is imported are functions; they have the first numbers.
    if (section === SECTION.import) imports = new Reader(content).number();
    parts.push(sectionOf(section, fitted(section, content, { imports, maximumPages })));
  }
  return Buffer.concat(parts);
}

function fitted(
  section: number,
  content: Buffer,
  { imports, maximumPages }: { imports: number; maximumPages: number },
): Buffer {
  switch (section) {
    case SECTION.table:
      if (!content.equals(TABLE)) throw unknownFile();
      return content;
    case SECTION.memory:
      return memoryOf(content, maximumPages);
    case SECTION.global:
      return globalsWithFuel(content);
    case SECTION.export:
      return exportsOf(content);
    case SECTION.code:
      return meteredCode(content, imports);
    default:
      return content;
  }
}

function memoryOf(content: Buffer, maximumPages: number): Buffer {
  if (!content.equals(MEMORY)) throw unknownFile();
  return Buffer.from([0x01, 0x01, ...numberBytes(FIRST_PAGES), ...numberBytes(maximumPages)]);
}

/** Each entry: name, a byte for the kind of thing, its number. */
function exportsOf(content: Buffer): Buffer {
  const reader = new Reader(content);
  const kept: Buffer[] = [];
  for (let left = reader.number(); left > 0; left--) {
    const start = reader.at;
    const name = reader.bytes(reader.number()).toString('utf8');
    reader.byte();
    reader.number();
    if (Object.hasOwn(USED, name)) kept.push(content.subarray(start, reader.at));
  }
  if (kept.length !== Object.keys(USED).length) throw unknownFile();
  return Buffer.concat([numberBytes(kept.length + 1), ...kept, fuelExport()]);
}

function sectionOf(section: number, content: Buffer): Buffer {
  return Buffer.concat([Buffer.from([section]), sized(content)]);
}
