/**
 * Lua 5.4 as WebAssembly: the C API of the file that package wasmoon brings, without that package's JavaScript,
 * which corrupts byte strings and cannot bound a script. Everything a C library could reach outside is a stub
 * that fails: no files, no processes, no environment.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Addresses in the memory of the instance; 0 is NULL. */
export type Pointer = number;

/** What is used of the C API so far; pointers and ints are numbers, 64-bit integers bigints. */
export interface LuaExports {
  memory: WebAssembly.Memory;
  __indirect_function_table: WebAssembly.Table;
  __wasm_call_ctors(): void;
  emscripten_stack_init(): void;
  stackSave(): Pointer;
  stackRestore(pointer: Pointer): void;
  setThrew(threw: number, value: number): void;
  malloc(sizeBytes: number): Pointer;
  free(pointer: Pointer): void;
  luaL_newstate(): Pointer;
  lua_close(state: Pointer): void;
  lua_settop(state: Pointer, index: number): void;
  lua_tolstring(state: Pointer, index: number, length: Pointer): Pointer;
  luaL_loadbufferx(state: Pointer, buffer: Pointer, sizeBytes: number, name: Pointer, mode: Pointer): number;
}

let compiled: WebAssembly.Module | undefined;

/** The compiled module, shared by all instances of the process. */
export function luaModule(): WebAssembly.Module {
  compiled ??= new WebAssembly.Module(
    readFileSync(createRequire(import.meta.url).resolve('wasmoon/dist/glue.wasm')),
  );
  return compiled;
}

export class LuaAbort extends Error {
  constructor(reason: string) {
    super(`the Lua instance aborted: ${reason}`);
    this.name = 'LuaAbort';
  }
}

const PAGE_BYTES = 65_536;
const GROWTH_BYTES_MAX = 16 * 1_048_576;
/** Error numbers of the C library. */
const ENOENT = -2;
const ENOSYS = -38;
const BAD_DESCRIPTOR = 8;
/** What the C library's longjmp throws; everything else passes through. */
const LONGJMP = Number.POSITIVE_INFINITY;

/** One instance with its own memory, which never grows beyond `memoryBytes`. */
export class LuaInstance {
  readonly exports: LuaExports;
  readonly #memoryBytes: number;
  #bytes: Uint8Array;
  #words: Uint32Array;

  constructor(options: { memoryBytes: number; module?: WebAssembly.Module }) {
    this.#memoryBytes = options.memoryBytes;
    const instance = new WebAssembly.Instance(options.module ?? luaModule(), {
      env: this.#environment(),
      wasi_snapshot_preview1: this.#wasi(),
    });
    this.exports = instance.exports as LuaExports;
    this.#bytes = new Uint8Array(this.exports.memory.buffer);
    this.#words = new Uint32Array(this.exports.memory.buffer);
    this.exports.emscripten_stack_init();
    this.exports.__wasm_call_ctors();
  }

  /** Copies bytes into the instance, NUL appended; to be freed by the caller. @throws LuaAbort when memory is full */
  allocate(bytes: Uint8Array): Pointer {
    const pointer = this.exports.malloc(bytes.length + 1);
    if (pointer === 0) throw new LuaAbort('not enough memory');
    const memory = this.bytes();
    memory.set(bytes, pointer);
    memory[pointer + bytes.length] = 0;
    return pointer;
  }

  /** A copy of the Lua string at `index`; `undefined` when there is none. */
  stringAt(state: Pointer, index: number): Uint8Array | undefined {
    const length = this.exports.malloc(4);
    if (length === 0) throw new LuaAbort('not enough memory');
    const start = this.exports.lua_tolstring(state, index, length);
    this.bytes();
    const sizeBytes = this.#words[length >> 2] ?? 0;
    this.exports.free(length);
    return start === 0 ? undefined : this.#bytes.slice(start, start + sizeBytes);
  }

  /** The memory as it is now: views go stale when it grows. */
  bytes(): Uint8Array {
    const { buffer } = this.exports.memory;
    if (this.#bytes.buffer !== buffer) {
      this.#bytes = new Uint8Array(buffer);
      this.#words = new Uint32Array(buffer);
    }
    return this.#bytes;
  }

  #environment(): WebAssembly.ModuleImports {
    const refuse = (code: number) => (): number => code;
    const nothing = (): void => undefined;
    return {
      abort: () => {
        throw new LuaAbort('internal fault');
      },
      exit: (code: number) => {
        throw new LuaAbort(`exit ${code}`);
      },
      invoke_vii: (index: number, a: number, b: number) => this.#invoke(index, a, b),
      _emscripten_throw_longjmp: () => {
        // The C library's way to leave frames is this very value, not an error.
        // oxlint-disable-next-line typescript/only-throw-error
        throw LONGJMP;
      },
      emscripten_resize_heap: (sizeBytes: number) => this.#resize(sizeBytes >>> 0),
      // No program of ours asks the C library for the time; scripts get an `os` table of their host.
      emscripten_date_now: () => 0,
      _emscripten_get_now_is_monotonic: () => 1,
      strftime: refuse(0),
      system: refuse(0),
      _mktime_js: () => 0n,
      _localtime_js: nothing,
      _gmtime_js: nothing,
      _tzset_js: nothing,
      __syscall_openat: refuse(ENOENT),
      __syscall_unlinkat: refuse(ENOENT),
      __syscall_rmdir: refuse(ENOENT),
      __syscall_renameat: refuse(ENOENT),
      __syscall_readlinkat: refuse(ENOENT),
      __syscall_fcntl64: refuse(ENOSYS),
      __syscall_ioctl: refuse(ENOSYS),
      __syscall_dup3: refuse(ENOSYS),
    };
  }

  #wasi(): WebAssembly.ModuleImports {
    const refuse = (): number => BAD_DESCRIPTOR;
    return {
      fd_write: refuse,
      fd_read: refuse,
      fd_seek: refuse,
      fd_close: () => 0,
      environ_get: () => 0,
      environ_sizes_get: (count: Pointer, sizeBytes: Pointer) => {
        this.bytes();
        this.#words[count >> 2] = 0;
        this.#words[sizeBytes >> 2] = 0;
        return 0;
      },
    };
  }

  /** Calls a table entry for C code that has set a jump point; a longjmp ends here. */
  #invoke(index: number, a: number, b: number): void {
    const stack = this.exports.stackSave();
    try {
      (this.exports.__indirect_function_table.get(index) as (a: number, b: number) => void)(a, b);
    } catch (error) {
      this.exports.stackRestore(stack);
      if (error !== LONGJMP) throw error;
      this.exports.setThrew(1, 0);
    }
  }

  /** Grows by a fifth (16 MiB at most) towards the cap; refusing makes Lua report "not enough memory". */
  #resize(neededBytes: number): number {
    const { memory } = this.exports;
    const presentBytes = memory.buffer.byteLength;
    const generousBytes = Math.max(
      neededBytes,
      Math.min(presentBytes * 1.2, presentBytes + GROWTH_BYTES_MAX),
    );
    for (const wantedBytes of [generousBytes, neededBytes]) {
      const pages = Math.ceil(wantedBytes / PAGE_BYTES);
      if (pages * PAGE_BYTES > this.#memoryBytes) continue;
      try {
        memory.grow(pages - presentBytes / PAGE_BYTES);
        return 1;
      } catch (error) {
        // The host has no memory left: the same to the script as the cap.
        if (!(error instanceof RangeError)) throw error;
        return 0;
      }
    }
    return 0;
  }
}
