/**
 * Lua 5.4 as WebAssembly: the C API of the file that package wasmoon brings, without that package's JavaScript,
 * which corrupts byte strings and cannot bound a script. Everything a C library could reach outside is a stub
 * that fails: no files, no processes, no environment.
 */
import { type LuaExports, luaModule, type Pointer } from './wasm-file.ts';

export type { LuaExports, Pointer } from './wasm-file.ts';

/** Page size of WebAssembly. */
const PAGE_BYTES = 65_536;
const GROWTH_BYTES_MAX = 16 * 1_048_576;

export class LuaAbort extends Error {
  constructor(reason: string) {
    super(`the Lua instance aborted: ${reason}`);
    this.name = 'LuaAbort';
  }
}

/** Error numbers of the C library. */
const ENOENT = -2;
const ENOSYS = -38;
const BAD_DESCRIPTOR = 8;
/** The exception of the C library's longjmp: JavaScript between two frames of C lets it pass. */
export const LONGJMP: unknown = Number.POSITIVE_INFINITY;

const SYSTEM_PAGE_BYTES = 4_096;
const ZEROS = Buffer.alloc(SYSTEM_PAGE_BYTES);

const refuse = (code: number) => (): number => code;
const nothing = (): void => undefined;

/** Parts that need no instance are shared by all of them. */
const ENVIRONMENT: WebAssembly.ModuleImports = {
  abort: () => {
    throw new LuaAbort('internal fault');
  },
  exit: (code: number) => {
    throw new LuaAbort(`exit ${code}`);
  },
  _emscripten_throw_longjmp: () => {
    // The C library's way to leave frames is this very value, not an error.
    // oxlint-disable-next-line typescript/only-throw-error
    throw LONGJMP;
  },
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

const WASI: WebAssembly.ModuleImports = {
  fd_write: refuse(BAD_DESCRIPTOR),
  fd_read: refuse(BAD_DESCRIPTOR),
  fd_seek: refuse(BAD_DESCRIPTOR),
  fd_close: refuse(0),
  environ_get: refuse(0),
};

/** One instance with its own memory, which never grows beyond `memoryBytes`. */
export class LuaInstance {
  readonly exports: LuaExports;
  readonly #memoryBytes: number;
  #bytes: Buffer;
  #words: Uint32Array;
  readonly #onRefused: () => void;

  /** `onRefused`: there was no memory for an allocation; Lua collects garbage and tries once more. It may throw LuaAbort. */
  constructor(options: { memoryBytes: number; onRefused?: () => void }) {
    this.#memoryBytes = options.memoryBytes;
    this.#onRefused = options.onRefused ?? (() => undefined);
    const instance = new WebAssembly.Instance(luaModule(options.memoryBytes), {
      env: this.#environment(),
      wasi_snapshot_preview1: this.#wasi(),
    });
    // The runtime's object has a shape of its own in each instance: every call would look its function up anew.
    this.exports = { ...(instance.exports as LuaExports) };
    this.#bytes = Buffer.from(this.exports.memory.buffer);
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

  /** The memory as it is now: views go stale when it grows. */
  bytes(): Buffer {
    this.#refresh();
    return this.#bytes;
  }

  /** The 32-bit word at an address that is a multiple of four. */
  word(pointer: Pointer): number {
    this.#refresh();
    return this.#words[pointer >> 2] ?? 0;
  }

  /**
   * Makes the memory these bytes, and zero behind them. Only what differs is written: a page of the system that
   * was never written to takes no memory, and nine in ten of a fresh state are such.
   */
  overwrite(image: Uint8Array): void {
    const missing = Math.ceil((image.length - this.sizeBytes) / PAGE_BYTES);
    if (missing > 0) this.exports.memory.grow(missing);
    const bytes = this.bytes();
    const wanted = Buffer.from(image.buffer, image.byteOffset, image.length);
    for (let start = 0; start < bytes.length; start += SYSTEM_PAGE_BYTES) {
      const page = bytes.subarray(start, start + SYSTEM_PAGE_BYTES);
      const content = wanted.subarray(start, start + SYSTEM_PAGE_BYTES);
      if (content.length > 0 && content.compare(page, 0, content.length) !== 0) page.set(content);
      const behind = page.subarray(content.length);
      if (behind.compare(ZEROS, 0, behind.length) !== 0) behind.fill(0);
    }
  }

  /** Bytes that the instance occupies now. */
  get sizeBytes(): number {
    return this.exports.memory.buffer.byteLength;
  }

  #refresh(): void {
    // Memory that grows leaves views of its former place without length; to ask it for its buffer takes longer than reading.
    if (this.#words.length > 0) return;
    const { buffer } = this.exports.memory;
    this.#bytes = Buffer.from(buffer);
    this.#words = new Uint32Array(buffer);
  }

  #environment(): WebAssembly.ModuleImports {
    return {
      ...ENVIRONMENT,
      invoke_vii: (index: number, a: number, b: number) => this.#invoke(index, a, b),
      emscripten_resize_heap: (sizeBytes: number) => this.#resize(sizeBytes >>> 0),
    };
  }

  #wasi(): WebAssembly.ModuleImports {
    return {
      ...WASI,
      environ_sizes_get: (count: Pointer, sizeBytes: Pointer) => {
        this.#refresh();
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
        break;
      }
    }
    this.#onRefused();
    return 0;
  }
}
