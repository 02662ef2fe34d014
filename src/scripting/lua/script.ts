import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { JSON_LIBRARY, jsonFunctions } from './libraries/json.ts';
import { Jobs, SCHEDULER_LIBRARY } from './libraries/scheduler.ts';
import { TIME_LIBRARY, timeFunctions } from './libraries/time.ts';
import { type Library, LuaStack } from './stack.ts';
import { type CallObserver, LuaMachine, PeriodicTimers, type ScriptClock } from './machine.ts';
import { compileLibraries, type Prelude } from './prelude.ts';
import type { Runnable, ScheduledTask, Scheduler } from './scheduler.ts';
import { type Image, LuaState } from './state.ts';
import { type HostFunction, LuaFailure } from './task.ts';
import { textOf } from './values.ts';
import { LuaInstance } from './wasm.ts';

/** A module that came along with the script: what `require` finds. */
export interface ScriptModule {
  source: Uint8Array;
  /** For messages: the file's path in the bundle. */
  file: string;
}

interface ScriptOptions {
  /** Scripts of one kind have the same libraries and functions, and begin with a copy of the first one's memory. */
  kind: string;
  memoryBytes: number;
  libraries: readonly Library[];
  functions: Readonly<Record<string, HostFunction>>;
  modules: (name: string) => ScriptModule | undefined;
  /** Takes the output of `print`. */
  print: (text: string) => void;
  /** Takes a warning about what the script does, for its log. */
  warn: (message: string) => void;
  /** While one call waits, others may run. */
  overlaps: boolean;
  /** Time limit of one run of a scheduled function, waits included; default: that of the limits. */
  callMs?: DurationMs;
  /** Called at every use. */
  timeZone: () => string;
  /** A call of a scheduled function failed. */
  onJobFailure: (failure: LuaFailure) => void;
  /** A job, or a run of one, ended. */
  onSettled: () => void;
  /** The script takes more than its share of the processor and pauses. */
  onPaused: (durationMs: DurationMs) => void;
  /** A host function failed by a fault of this program. */
  onFault: (name: string, error: unknown) => void;
  observer?: CallObserver;
}

interface ScriptsOptions {
  /** The script's time; may be simulated. */
  clock: ScriptClock;
  /** Real time, for slices. */
  monotonicMs: () => MonotonicMs;
  /** Processor time that this thread has taken, for turns. */
  processorMs: () => DurationMs;
  scheduler: Scheduler;
  limits: Limits['lua'];
  /** Two numbers that seed `math.random`. */
  seed: () => [bigint, bigint];
}

/** Creates the scripts of one thread. */
export class Scripts {
  /** Timers of functions that run again and again. */
  readonly timers: PeriodicTimers;
  readonly #options: ScriptsOptions;
  readonly #kinds = new Map<string, { prelude: Prelude; image?: Image }>();

  constructor(options: ScriptsOptions) {
    this.#options = options;
    this.timers = new PeriodicTimers(options.clock, options.limits.timerSlackPermille);
  }

  create(options: ScriptOptions): Script {
    const { clock, limits, monotonicMs, processorMs } = this.#options;
    const jobs = new Jobs({
      clock,
      timers: this.timers,
      limits: { ...limits, callMs: options.callMs ?? limits.callMs },
      machine: () => script.machine,
      onFailure: options.onJobFailure,
      onSettled: options.onSettled,
    });
    const time = timeFunctions({ clock, timeZone: options.timeZone, delayMs: limits.delayMs });
    const kind = this.#kindOf(options);
    const state = new LuaState({
      memoryBytes: options.memoryBytes,
      prelude: kind.prelude,
      functions: {
        ...time.functions,
        ...jsonFunctions({ monotonicMs, warn: options.warn }),
        ...jobs.functions,
        ...bundleFunctions(options),
        ...options.functions,
      },
      monotonicMs,
      processorMs,
      limits,
      onFault: options.onFault,
      image: kind.image,
    });
    const script = new Script({
      ...this.#options,
      overlaps: options.overlaps,
      onPaused: options.onPaused,
      observer: options.observer,
      state,
      image: (kind.image ??= state.image()),
      jobs,
      stopWaits: time.stop,
    });
    return script;
  }

  #kindOf({ kind, libraries, memoryBytes }: ScriptOptions): { prelude: Prelude; image?: Image } {
    return this.#kinds.getOrInsertComputed(kind, () => {
      const all = [TIME_LIBRARY, JSON_LIBRARY, SCHEDULER_LIBRARY, ...libraries];
      return { prelude: compileLibraries(all, memoryBytes) };
    });
  }
}

function bundleFunctions(options: ScriptOptions): Record<string, HostFunction> {
  return {
    print: ([text]) => {
      options.print(textOf(text) ?? '');
    },
    module: ([name]) => {
      const found = options.modules(textOf(name) ?? '');
      return found ? [luaSource(found.source), `@${found.file}`] : [];
    },
  };
}

type ScriptParts = Pick<ScriptsOptions, 'clock' | 'scheduler' | 'limits' | 'seed'> &
  Pick<ScriptOptions, 'overlaps' | 'onPaused'> & {
    state: LuaState;
    image: Image;
    jobs: Jobs;
    observer: CallObserver | undefined;
    stopWaits: () => void;
  };

/** A script with the libraries that all runtimes share, ready to take those of its runtime. */
export class Script implements Runnable {
  readonly jobs: Jobs;
  readonly #parts: ScriptParts;
  readonly #task: ScheduledTask;
  #machine: LuaMachine;

  constructor(parts: ScriptParts) {
    this.#parts = parts;
    this.jobs = parts.jobs;
    this.#task = parts.scheduler.add(this, parts.onPaused);
    this.#machine = this.#createMachine();
  }

  get machine(): LuaMachine {
    return this.#machine;
  }

  get isReady(): boolean {
    return this.#machine.isReady;
  }

  slice(): void {
    this.#machine.slice();
  }

  /**
   * Restores its state from before the first run, which is cheaper than a new script. False: it has grown too large
   * for that, or is broken, and a new one must be created.
   */
  reset(): boolean {
    const { state, image, limits } = this.#parts;
    const isBroken = this.#machine.failure !== undefined;
    this.#endAll();
    if (isBroken || state.sizeBytes > limits.resetBytes) return false;
    state.restore(image);
    this.#machine = this.#createMachine();
    return true;
  }

  /** Runs the main chunk. With `timeoutMs` it is given up after so much time. @throws LuaFailure */
  async run(source: Uint8Array, file: string, timeoutMs?: DurationMs): Promise<void> {
    await this.machine.call('begin', this.#parts.seed());
    const [fault] = await this.machine.call('chunk', [luaSource(source), `@${file}`], timeoutMs);
    if (fault !== undefined) throw new LuaFailure('syntax', textOf(fault) ?? 'syntax error');
  }

  get sizeBytes(): number {
    return this.#parts.state.sizeBytes;
  }

  /** Processor time so far. */
  get processorMs(): DurationMs {
    return this.#task.processorMs;
  }

  /** Ends everything at once. Its memory is free as soon as this object is not referenced. */
  close(): void {
    this.#endAll();
    this.#task.leave();
  }

  #endAll(): void {
    this.jobs.clear();
    this.#parts.stopWaits();
    this.#machine.close();
  }

  #createMachine(): LuaMachine {
    const { state, clock, overlaps, observer } = this.#parts;
    return new LuaMachine({ state, clock, overlaps, observer, onReady: () => this.#task.wake() });
  }
}

// Syntax of Lua files, judged by the virtual machine that will run them.

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
