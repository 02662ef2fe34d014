/** A script with the libraries that all runtimes share, ready to take those of its runtime. */
import type { Limits } from '../lib/limits.ts';
import { JSON_FUNCTIONS, JSON_LIBRARY } from './libraries/json.ts';
import { Jobs, SCHEDULER_LIBRARY } from './libraries/scheduler.ts';
import { TIME_LIBRARY, timeFunctions } from './libraries/time.ts';
import type { Library } from './library.ts';
import { LuaMachine, type ScriptClock } from './machine.ts';
import type { Rota, Seat } from './rota.ts';
import { type HostFunction, type Image, LuaFailure, LuaState } from './state.ts';
import { luaSource } from './syntax.ts';
import { textOf } from './values.ts';

/** A module that came along with the script: what `require` finds. */
export interface ScriptModule {
  source: Uint8Array;
  /** For messages: the file's path in the bundle. */
  file: string;
}

export interface ScriptOptions {
  /** Scripts of one kind have the same libraries and functions; the first one's beginning serves all others. */
  kind: string;
  memoryBytes: number;
  libraries: readonly Library[];
  functions: Readonly<Record<string, HostFunction>>;
  modules: (name: string) => ScriptModule | undefined;
  /** What `print` writes. */
  print: (text: string) => void;
  /** Calls at different times may overlap while one waits. */
  overlaps: boolean;
  /** Asked at every use. */
  timeZone: () => string;
  /** A call of a scheduled function failed. */
  onJobFailure: (failure: LuaFailure) => void;
  /** A job, or a run of one, ended. */
  onSettled: () => void;
  /** The script takes more than its share of the processor and pauses. */
  onPaused: (durationMs: number) => void;
  /** A host function failed by its own fault. */
  onFault: (name: string, error: unknown) => void;
}

export interface ScriptsOptions {
  /** The script's time; may be simulated. */
  clock: ScriptClock;
  /** Real time, for slices. */
  monotonicMs: () => number;
  rota: Rota;
  limits: Limits['lua'];
  /** Two numbers that seed `math.random`. */
  seed: () => [bigint, bigint];
}

/** Makes the scripts of one thread. */
export class Scripts {
  readonly #options: ScriptsOptions;
  readonly #images = new Map<string, Image>();

  constructor(options: ScriptsOptions) {
    this.#options = options;
  }

  create(options: ScriptOptions): Script {
    const { clock, limits, monotonicMs, rota, seed } = this.#options;
    const jobs = new Jobs({
      clock,
      limits,
      machine: () => machine,
      onFailure: options.onJobFailure,
      onSettled: options.onSettled,
    });
    const state = new LuaState({
      memoryBytes: options.memoryBytes,
      libraries: [TIME_LIBRARY, JSON_LIBRARY, SCHEDULER_LIBRARY, ...options.libraries],
      functions: {
        ...timeFunctions({ clock, timeZone: options.timeZone, delayMs: limits.delayMs }),
        ...JSON_FUNCTIONS,
        ...jobs.functions,
        ...bundleFunctions(options),
        ...options.functions,
      },
      monotonicMs,
      limits,
      onFault: options.onFault,
      image: this.#images.get(options.kind),
    });
    if (!this.#images.has(options.kind)) this.#images.set(options.kind, state.image());
    const machine = new LuaMachine({
      state,
      clock,
      overlaps: options.overlaps,
      onReady: () => seat.wake(),
    });
    const seat = rota.seat(machine, options.onPaused);
    return new Script({ state, machine, jobs, seat, seed });
  }
}

function bundleFunctions(options: ScriptOptions): Record<string, HostFunction> {
  return {
    print: {
      call: ([text]) => {
        options.print(textOf(text) ?? '');
      },
    },
    module: {
      call: ([name]) => {
        const found = options.modules(textOf(name) ?? '');
        return found ? [luaSource(found.source), `@${found.file}`] : [];
      },
    },
  };
}

export class Script {
  readonly jobs: Jobs;
  readonly machine: LuaMachine;
  readonly #state: LuaState;
  readonly #seat: Seat;
  readonly #seed: () => [bigint, bigint];

  constructor(parts: {
    state: LuaState;
    machine: LuaMachine;
    jobs: Jobs;
    seat: Seat;
    seed: () => [bigint, bigint];
  }) {
    this.#state = parts.state;
    this.machine = parts.machine;
    this.jobs = parts.jobs;
    this.#seat = parts.seat;
    this.#seed = parts.seed;
  }

  /** Runs the main chunk. With `timeoutMs` it is given up after so much time. @throws LuaFailure */
  async run(source: Uint8Array, file: string, timeoutMs?: number): Promise<void> {
    await this.machine.call('begin', this.#seed());
    const [fault] = await this.machine.call('chunk', [luaSource(source), `@${file}`], timeoutMs);
    if (fault !== undefined) throw new LuaFailure('syntax', textOf(fault) ?? 'syntax error');
  }

  get sizeBytes(): number {
    return this.#state.sizeBytes;
  }

  /** Processor time so far. */
  get processorMs(): number {
    return this.#seat.processorMs;
  }

  /** Ends everything where it stands. Its memory is free as soon as nobody holds this object. */
  close(): void {
    this.jobs.clear();
    this.machine.close();
    this.#seat.leave();
  }
}
