/**
 * One Lua state in its own memory. Scripts run as tasks, each a coroutine of the machine; a task runs until it
 * ends, waits for the host, has used up its slice, or fails. Between those moments nothing else happens here.
 * Nothing is pushed for a script outside of its coroutine: arguments and results are fetched by the prelude
 * from inside, where running out of memory is an ordinary error of the script.
 */
import { messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { pushValue, readValues } from './marshalling.ts';
import { loadLibraries, PART, type Prelude, pushPart, type References } from './prelude.ts';
import { LUA_INDEX, LuaStack } from './stack.ts';
import { type HostFunction, type HostResult, LuaFailure, type Outcome, type Task } from './task.ts';
import { Traceback } from './traceback.ts';
import { LuaError, textOf } from './values.ts';
import { METER } from './wasm-meter.ts';
import { LONGJMP, LuaAbort, LuaInstance, type Pointer } from './wasm.ts';

interface StateOptions {
  /** Hard bound on all that the state occupies. */
  memoryBytes: number;
  functions: Readonly<Record<string, HostFunction>>;
  prelude: Prelude;
  /** For durations of slices; real time also where the script's clock is simulated. */
  monotonicMs: () => MonotonicMs;
  /** Processor time that this thread has taken, for turns. */
  processorMs: () => DurationMs;
  limits: Limits['lua'];
  /** A host function failed by a fault of its own; the script sees "internal fault". */
  onFault: (name: string, error: unknown) => void;
  /** Image of a state with the same functions and libraries, from which this one begins. */
  image?: Image;
}

/** The memory of a state that is ready to run a script. */
export interface Image {
  bytes: Uint8Array;
  state: Pointer;
  stackTop: Pointer;
  references: References;
}

const FIRST_UPVALUE = LUA_INDEX.registry - 1;
const MASK = { return: 2, count: 8 } as const;
/** LUA_HOOKRET, first in `lua_Debug`. */
const EVENT_RETURN = 1;
const STATUS = { ok: 0, yield: 1, memory: 4 } as const;
/** Indices of the table that the base library and this file share. */
const FLAG = { paused: 1, blocked: 2 } as const;
const LONG_AGO_MS = Number.NEGATIVE_INFINITY;

export const TIME_MESSAGE = 'execution time exceeded';
export const MEMORY_MESSAGE = 'not enough memory';
const STACK_MESSAGE = 'stack overflow';
const WORK_MESSAGE = 'too much work at once: take a simpler pattern, less text or a smaller table';
/** Steps of one instruction of Lua, relative to a step of a loop in C. */
const INSTRUCTION_STEPS = 2;
/** Stack slots beyond the bound for the handler of the error. */
const HANDLER_SLOTS = 10_000;

export class LuaState {
  readonly #options: StateOptions;
  readonly #instance: LuaInstance;
  readonly #stack: LuaStack;
  readonly #traceback: Traceback;
  readonly #names: readonly string[];
  readonly #functions: readonly HostFunction[];
  readonly #hook: number;
  readonly #main: Pointer;
  readonly #references: References;
  readonly #stackTop: Pointer;
  /** Coroutines whose hook was set to every instruction. */
  readonly #tightened = new Set<Pointer>();
  #task: Task | undefined;
  #pending: Promise<HostResult | void> | undefined;
  #preempted = false;
  #pausedIn: Pointer | undefined;
  #expired = false;
  #sliceEndMs: MonotonicMs = LONG_AGO_MS;
  #refusals = 0;
  /** Steps of the C library and instructions in this slice. */
  #steps = 0;
  #stackSlotsMax: number;
  /** The rest of the turn as the slice begins, and the processor time that the thread had taken before. */
  #turnLeftMs: DurationMs = 0;
  #takenBeforeMs: DurationMs = 0;
  #turnEndMs: MonotonicMs = LONG_AGO_MS;

  constructor(options: StateOptions) {
    this.#options = options;
    this.#stackSlotsMax = options.limits.stackSlots;
    const functions = { ...options.functions, take: () => this.#takeInbox(), part: PART };
    this.#names = Object.keys(functions);
    this.#functions = Object.values(functions);
    const { memoryBytes } = options;
    this.#instance = new LuaInstance({ memoryBytes, onRefused: () => this.#memoryRefused() });
    const { exports } = this.#instance;
    const entries = addFunctions(this.#instance, {
      call: (state) => this.#call(state),
      hook: (state, debug) =>
        this.#instance.word(debug) === EVENT_RETURN ? this.#returned(state) : this.#interrupt(state),
      meter: (state, mayRaise) => this.#meter(state, mayRaise !== 0),
    });
    this.#hook = entries.hook;
    // The same addresses in every state of this kind: an image has them already.
    this.#stack = new LuaStack(this.#instance);
    this.#traceback = new Traceback(this.#stack);
    const { image } = options;
    if (image) {
      this.#instance.overwrite(image.bytes);
      this.#main = image.state;
      this.#references = image.references;
    } else {
      this.#main = exports.luaL_newstate();
      if (this.#main === 0) throw new LuaAbort(MEMORY_MESSAGE);
      exports.lua_sethook(this.#main, this.#hook, MASK.count, options.limits.hookInstructions);
      exports.luaL_openlibs(this.#main);
      this.#references = loadLibraries(this.#stack, this.#main, {
        callEntry: entries.call,
        functions: this.#names,
        prelude: options.prelude,
      });
    }
    this.#stackTop = image?.stackTop ?? exports.stackSave();
  }

  /** To be taken before the first task. */
  image(): Image {
    const bytes = this.#instance.bytes();
    let end = bytes.length;
    while (end > 0 && bytes[end - 1] === 0) end--;
    return {
      bytes: Uint8Array.from(bytes.subarray(0, end)),
      state: this.#main,
      stackTop: this.#stackTop,
      references: this.#references,
    };
  }

  /** Makes everything as it was in the image; all tasks are gone. */
  restore(image: Image): void {
    this.#instance.overwrite(image.bytes);
    this.#instance.exports.stackRestore(image.stackTop);
    this.#tightened.clear();
  }

  /** Bytes of memory in use, free ones inside included; never above the bound. */
  get sizeBytes(): number {
    return this.#instance.sizeBytes;
  }

  /** A call of the prelude's entry `values[0]` with the other values. @throws LuaAbort */
  start(values: HostResult): Task {
    const { exports } = this.#instance;
    const thread = exports.lua_newthread(this.#main);
    const reference = exports.luaL_ref(this.#main, LUA_INDEX.registry);
    exports.lua_rawgeti(thread, LUA_INDEX.registry, BigInt(this.#references.entry));
    return { thread, reference, inbox: values, turnMs: 0, deadlineMs: undefined, slice: 0 };
  }

  /** Lets go of a task that ended or is given up. */
  drop(task: Task): void {
    this.#instance.exports.luaL_unref(this.#main, LUA_INDEX.registry, task.reference);
  }

  /** Runs a task on. @throws LuaAbort when the state is broken and cannot be used again */
  resume(task: Task): Outcome {
    const { exports } = this.#instance;
    const { limits, monotonicMs, processorMs } = this.#options;
    const startedMs = monotonicMs();
    this.#task = task;
    task.slice++;
    this.#preempted = false;
    this.#pausedIn = undefined;
    this.#expired = false;
    this.#pending = undefined;
    this.#refusals = 0;
    this.#steps = 0;
    exports.fuel.value = METER.steps;
    this.#sliceEndMs = startedMs + limits.sliceMs;
    this.#takenBeforeMs = processorMs();
    this.#turnLeftMs = limits.turnMs - task.turnMs;
    this.#turnEndMs = startedMs + this.#turnLeftMs;
    this.#setFlag(this.#main, FLAG.blocked, 0);
    try {
      const status = exports.lua_resume(task.thread, this.#main, 0, this.#stack.length);
      return this.#outcome(task, status);
    } finally {
      this.#task = undefined;
    }
  }

  #outcome(task: Task, status: number): Outcome {
    const { exports } = this.#instance;
    if (status === STATUS.ok) {
      try {
        return { kind: 'done', values: readValues(this.#stack, task.thread, 1) };
      } catch (error) {
        if (!(error instanceof LuaError)) throw error;
        return { kind: 'failed', failure: new LuaFailure('error', error.message) };
      }
    }
    if (status !== STATUS.yield) return { kind: 'failed', failure: this.#failure(task, status) };
    exports.lua_settop(task.thread, -this.#instance.word(this.#stack.length) - 1);
    if (this.#expired) return { kind: 'failed', failure: this.#failure(task, status) };
    if (this.#pending) return { kind: 'waiting', promise: this.#pending };
    task.turnMs += this.#options.processorMs() - this.#takenBeforeMs;
    return { kind: 'preempted' };
  }

  #failure(task: Task, status: number): LuaFailure {
    const traceback = this.#traceback.of(task.thread);
    if (this.#pausedIn !== undefined && this.#pausedIn !== task.thread)
      traceback.unshift(...this.#traceback.of(this.#pausedIn));
    if (status === STATUS.memory) return new LuaFailure('memory', MEMORY_MESSAGE, traceback);
    if (this.#expired) return new LuaFailure('time', TIME_MESSAGE, traceback);
    return new LuaFailure('error', this.#stack.errorText(task.thread), traceback);
  }

  /** Every `host.<name>(…)` of a library comes here. */
  #call(state: Pointer): number {
    const { exports } = this.#instance;
    const index = Number(exports.lua_tointegerx(state, FIRST_UPVALUE, 0));
    const name = this.#names[index];
    const target = this.#functions[index];
    if (name === undefined || target === undefined) throw new LuaAbort('unknown host function');
    if (this.#task && !this.#preempted && this.#isTurnOver(state)) this.#expire(state);
    try {
      const waits = typeof target === 'object';
      if (waits && !this.#canYield(state)) throw new LuaError('attempt to yield across a C-call boundary');
      const values = readValues(this.#stack, state, 1);
      if (target === PART) return pushPart(this.#stack, state, this.#options.prelude, textOf(values[0]));
      const results =
        (waits ? target.waits(values, this.#task?.deadlineMs, this.#task) : target(values)) ?? [];
      exports.lua_settop(state, 0);
      if (results instanceof Promise) {
        this.#pending = results;
        exports.lua_rawgeti(state, LUA_INDEX.registry, BigInt(this.#references.tag));
        return exports.lua_yieldk(state, 1, 0, 0);
      }
      // A task that might have waited (`kit.wait`) learns that this is all.
      if (waits) exports.lua_pushboolean(state, 1);
      const pushed = this.#pushAll(state, results) + (waits ? 1 : 0);
      // Calls that take long pass by few instructions: the hook looks at the next one.
      if (this.#task && this.#options.monotonicMs() >= this.#sliceEndMs) this.#tighten(state);
      return pushed;
    } catch (error) {
      if (error === LONGJMP || error instanceof LuaAbort) throw error;
      return this.#raise(state, name, error);
    }
  }

  /** Takes the input of the current task for the prelude. */
  #takeInbox(): HostResult {
    const inbox = this.#task?.inbox ?? [];
    if (inbox instanceof LuaError) throw inbox;
    return inbox;
  }

  #pushAll(state: Pointer, results: HostResult): number {
    this.#stack.reserve(state, results.length + 1);
    for (const value of results) pushValue(this.#stack, state, value);
    return results.length;
  }

  #raise(state: Pointer, name: string, error: unknown): number {
    const isOurs = error instanceof LuaError;
    if (!isOurs) this.#options.onFault(name, error);
    this.#instance.exports.lua_settop(state, 0);
    return this.#stack.raise(state, isOurs ? error.message : `internal fault: ${messageOf(error)}`, 1);
  }

  /** The count hook: ends a turn that took too long, pauses a slice that did. */
  #interrupt(state: Pointer): void {
    const { hookInstructions, sliceSteps } = this.#options.limits;
    if (!this.#task) return;
    if (this.#tightened.has(state)) {
      if (!this.#expired) this.#setHook(state, MASK.count, hookInstructions);
    } else this.#steps += hookInstructions * INSTRUCTION_STEPS;
    // A pause that is on its way outwards through coroutines is finished first.
    if (this.#preempted) return;
    const nowMs = this.#options.monotonicMs();
    if (this.#expired || this.#isTurnOver(state, nowMs)) return this.#expire(state);
    if (this.#overflows(state)) this.#stack.raise(state, STACK_MESSAGE, 0);
    if (nowMs < this.#sliceEndMs && this.#steps <= sliceSteps) return;
    if (this.#canYield(state)) return this.#yield(state);
    if (this.#steps <= sliceSteps) return this.#setHook(state, MASK.count | MASK.return, hookInstructions);
    this.#tighten(state);
    this.#stack.raise(state, WORK_MESSAGE, 0);
  }

  /** The slice is over, but nothing could yield: where that has changed, the next instruction does. */
  #returned(state: Pointer): void {
    if (this.#task && !this.#preempted && this.#canYield(state)) this.#tighten(state);
  }

  /** A C function without bound has done so many steps that the hook would have looked; on a slow board time counts, too. */
  #meter(state: Pointer, mayRaise: boolean): void {
    const { fuel } = this.#instance.exports;
    const { sliceSteps, nativeMs } = this.#options.limits;
    this.#steps += METER.steps - fuel.value;
    fuel.value = METER.steps;
    if (!this.#task || this.#preempted) return;
    const nowMs = this.#options.monotonicMs();
    const isTooMuch = this.#steps > sliceSteps || nowMs >= this.#sliceEndMs + nativeMs;
    if (!isTooMuch && nowMs < this.#sliceEndMs) return;
    this.#tighten(state);
    if (isTooMuch && mayRaise) this.#stack.raise(state, WORK_MESSAGE, 1);
  }

  /** True beyond the depth that a script may call; its error handler may go a little deeper. */
  #overflows(state: Pointer): boolean {
    const { stackSlots } = this.#options.limits;
    const slots = this.#stack.slots(state);
    if (slots <= stackSlots) this.#stackSlotsMax = stackSlots;
    if (slots <= this.#stackSlotsMax) return false;
    this.#stackSlotsMax = slots + HANDLER_SLOTS;
    return true;
  }

  /** A thread that did not get the processor has used less of its turn than has passed. */
  #isTurnOver(state: Pointer, nowMs = this.#options.monotonicMs()): boolean {
    if (nowMs < this.#turnEndMs) return false;
    // Code that cannot yield makes all scripts of the thread wait, whichever script is the cause.
    if (!this.#canYield(state)) return true;
    const leftMs = this.#turnLeftMs - (this.#options.processorMs() - this.#takenBeforeMs);
    this.#turnEndMs = nowMs + leftMs;
    return leftMs <= 0;
  }

  /**
   * At the bound every allocation collects all garbage first. A script that catches the error and continues would take
   * seconds for the instructions between two looks of the hook, so it is given up.
   */
  #memoryRefused(): void {
    const { limits, monotonicMs } = this.#options;
    this.#refusals++;
    if (!this.#task || this.#refusals <= limits.memoryRefusals) return;
    if (monotonicMs() >= this.#sliceEndMs) throw new LuaAbort(MEMORY_MESSAGE);
  }

  /** A coroutine may be able to yield while the one that resumed it is not, inside `table.sort` for example. */
  #canYield(state: Pointer): boolean {
    const { exports } = this.#instance;
    if (exports.lua_isyieldable(state) === 0) return false;
    if (state === this.#task?.thread) return true;
    exports.lua_rawgeti(state, LUA_INDEX.registry, BigInt(this.#references.flags));
    exports.lua_rawgeti(state, -1, BigInt(FLAG.blocked));
    const isBlocked = exports.lua_toboolean(state, -1) !== 0;
    exports.lua_settop(state, -3);
    return !isBlocked;
  }

  /** A word to the prelude's `coroutine.resume`. Allocates nothing. */
  #setFlag(state: Pointer, flag: number, value: number): void {
    const { exports } = this.#instance;
    exports.lua_rawgeti(state, LUA_INDEX.registry, BigInt(this.#references.flags));
    exports.lua_pushboolean(state, value);
    exports.lua_rawseti(state, -2, BigInt(flag));
    exports.lua_settop(state, -2);
  }

  /**
   * Ends the turn. Where the coroutine can yield it does, and is never resumed: no `pcall` sees anything, and
   * nothing has to be unwound, which can take long. Elsewhere an error is raised now and again at every further
   * instruction, so that a `pcall` that catches it does not get far.
   */
  #expire(state: Pointer): void {
    const { exports } = this.#instance;
    this.#expired = true;
    if (this.#canYield(state)) return this.#yield(state);
    this.#tighten(state);
    this.#stack.pushText(state, TIME_MESSAGE);
    exports.lua_error(state);
  }

  /** The hook is called at every instruction, until it finds nothing to do. */
  #tighten(state: Pointer): void {
    this.#setHook(state, MASK.count, 1);
  }

  #setHook(state: Pointer, mask: number, count: number): void {
    if (count === 1) this.#tightened.add(state);
    else this.#tightened.delete(state);
    this.#instance.exports.lua_sethook(state, this.#hook, mask, count);
  }

  /** Yields by decision of the host, not of the script. */
  #yield(state: Pointer): void {
    this.#preempted = true;
    this.#pausedIn = state;
    if (state !== this.#task?.thread) this.#setFlag(state, FLAG.paused, 1);
    this.#instance.exports.lua_yieldk(state, 0, 0, 0);
  }
}

// JavaScript functions as entries of an instance's function table. Only WebAssembly functions fit there, so a
// tiny module passes three imports through as exports: `c`, a C function of Lua, `h`, a hook, and `m`, the meter.

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
function addFunctions(instance: LuaInstance, functions: Entries): { call: number; hook: number } {
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
