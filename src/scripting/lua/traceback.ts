/** The call stack of a coroutine that failed, read without allocating: memory may be what failed. */
import { type LuaStack, PRELUDE_NAME } from './stack.ts';
import type { Pointer } from './wasm.ts';

/** Offsets in `lua_Debug` of Lua 5.4, 32 bit. */
const DEBUG = {
  name: 4,
  nameKind: 8,
  kind: 12,
  line: 24,
  definedLine: 28,
  shortSource: 44,
  sizeBytes: 128,
} as const;
const SHORT_SOURCE_BYTES = 60;
/** A deeper stack is cut in the middle; so many calls are shown at each end. */
const HALF = 10;
const NAME_BYTES_MAX = 100;

export class Traceback {
  readonly #stack: LuaStack;
  readonly #debug: Pointer;
  readonly #what: Pointer;

  constructor(stack: LuaStack) {
    this.#stack = stack;
    this.#debug = stack.instance.allocate(new Uint8Array(DEBUG.sizeBytes));
    this.#what = stack.instance.allocate(Buffer.from('nSl'));
  }

  /** One line per call, innermost first: `main.lua:12: in function 'read'`. */
  of(thread: Pointer): string[] {
    const inner: string[] = [];
    let level = 0;
    for (; inner.length < HALF && this.#exists(thread, level); level++)
      inner.push(...this.#line(thread, level));
    const depth = this.#depth(thread, level);
    const from = Math.max(level, depth - HALF);
    const outer: string[] = [];
    for (let rest = from; rest < depth; rest++) outer.push(...this.#line(thread, rest));
    return from > level ? [...inner, `(${from - level} more)`, ...outer] : [...inner, ...outer];
  }

  /** Number of levels. Reaching a level takes time in proportion to it, so not every one is tried. */
  #depth(thread: Pointer, known: number): number {
    let low = known;
    let high = Math.max(known, 1);
    while (this.#exists(thread, high)) {
      low = high;
      high *= 2;
    }
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#exists(thread, middle)) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  #exists(thread: Pointer, level: number): boolean {
    return this.#stack.exports.lua_getstack(thread, level, this.#debug) !== 0;
  }

  /** Empty for a frame of the libraries. */
  #line(thread: Pointer, level: number): string[] {
    const { exports } = this.#stack;
    exports.lua_getstack(thread, level, this.#debug);
    exports.lua_getinfo(thread, this.#what, this.#debug);
    const source = this.#text(this.#debug + DEBUG.shortSource, SHORT_SOURCE_BYTES);
    return source === PRELUDE_NAME ? [] : [this.#frame(source)];
  }

  #frame(source: string): string {
    const line = this.#field(DEBUG.line) | 0;
    const where = line > 0 ? `${source}:${line}: ` : `${source}: `;
    const name = this.#named(DEBUG.name);
    const nameKind = this.#named(DEBUG.nameKind);
    const kind = this.#named(DEBUG.kind);
    if (kind === 'main') return `${where}in main chunk`;
    if (name !== '' && nameKind !== '') return `${where}in ${nameKind} '${name}'`;
    return kind === 'C'
      ? `${where}in a built-in function`
      : `${where}in function of line ${this.#field(DEBUG.definedLine)}`;
  }

  #field(offset: number): number {
    return this.#stack.instance.word(this.#debug + offset);
  }

  #named(offset: number): string {
    const pointer = this.#field(offset);
    return pointer === 0 ? '' : this.#text(pointer, NAME_BYTES_MAX);
  }

  #text(pointer: Pointer, bytesMax: number): string {
    const bytes = this.#stack.instance.bytes().subarray(pointer, pointer + bytesMax);
    const end = bytes.indexOf(0);
    return bytes.toString('utf8', 0, end < 0 ? bytes.length : end);
  }
}
