/** Syntax of Lua files, judged by the virtual machine that will run them. */
import { LuaStack } from './stack.ts';
import { LuaInstance } from './wasm.ts';

/** Where a script does not compile, and why. */
export interface SyntaxFault {
  /** 1-based; undefined when the fault belongs to no line (a binary chunk). */
  line: number | undefined;
  message: string;
}

/** Compiles scripts without running them. */
export type SyntaxChecker = ReturnType<typeof createSyntaxChecker>;

/** Far above what the parser takes for the largest file that a blueprint may hold (2 MiB). */
const MEMORY_BYTES = 192 * 1_048_576;
const OK = 0;
/** A chunk name that no message can contain by chance, and `=`: use it as it is. */
const CHUNK_NAME = '\u0001';
const FAULT = new RegExp(`^${CHUNK_NAME}:(\\d+): ([^]*)$`);

/** One checker per task: its memory is freed with it. */
export function createSyntaxChecker() {
  const instance = new LuaInstance({ memoryBytes: MEMORY_BYTES });
  const { exports } = instance;
  const stack = new LuaStack(instance);
  const state = exports.luaL_newstate();
  const name = instance.allocate(Buffer.from(`=${CHUNK_NAME}`));
  const mode = instance.allocate(Buffer.from('t'));

  return {
    /** The first fault of a Lua source text, or undefined. Nothing of it is run. */
    check(source: Uint8Array) {
      const text = luaSource(source);
      const buffer = instance.allocate(text);
      const status = exports.luaL_loadbufferx(state, buffer, text.length, name, mode);
      exports.free(buffer);
      const fault = status === OK ? undefined : faultOf(stack.errorText(state));
      exports.lua_settop(state, 0);
      return fault;
    },
  };
}

/**
 * The text that is compiled: without a byte order mark, and with a first line `#!…` made a comment, as the
 * stand-alone interpreter does.
 */
export function luaSource(source: Uint8Array): Uint8Array {
  const hasMark = source[0] === 0xef && source[1] === 0xbb && source[2] === 0xbf;
  const text = hasMark ? source.subarray(3) : source;
  return text[0] === 0x23 ? Buffer.concat([Buffer.from('--'), text]) : text;
}

function faultOf(message: string): SyntaxFault {
  const match = FAULT.exec(message);
  return match ? { line: Number(match[1]), message: match[2] ?? '' } : { line: undefined, message };
}
