/** A script in this thread, with its prints as lines. */
import { LIMITS, type Limits } from '../../src/lib/limits.ts';
import type { DurationMs } from '../../src/lib/time.ts';
import {
  type HostFunction,
  type Library,
  LuaFailure,
  type Runnable,
  Scheduler,
  type Script,
  type ScriptClock,
  type ScriptModule,
  Scripts,
} from '../../src/scripting/lua/index.ts';
import { TestClock } from './test-clock.ts';
import { createSystemClock, nextTurn } from '../../src/platform/clock/index.ts';
import { processorMs } from '../../src/platform/threads/index.ts';

const MIB = 1_048_576;

export interface TestScript {
  script: Script;
  printed: string[];
  /** Warnings for the log of the script. */
  warned: string[];
  failures: LuaFailure[];
  paused: number[];
  /** Runs a chunk; its failure or undefined. */
  run: (source: string, file?: string) => Promise<LuaFailure | undefined>;
}

export interface TestScriptOptions {
  clock?: ScriptClock;
  limits?: Partial<Limits['lua']>;
  memoryBytes?: number;
  libraries?: readonly Library[];
  functions?: Record<string, HostFunction>;
  modules?: Record<string, ScriptModule>;
  timeZone?: string;
  overlaps?: boolean;
  scheduler?: Scheduler;
  /** Default: of this thread. */
  processorMs?: () => DurationMs;
}

export const system = createSystemClock();

/** `onSlice` is called with the runnable of each slice. */
export function testScheduler(
  limits: Partial<Limits['lua']> = {},
  onSlice: (runnable: Runnable) => void = () => undefined,
): Scheduler {
  return new Scheduler({
    clock: system,
    nextTurn,
    limits: { ...LIMITS.lua, ...limits },
    onSlice: (runnable, isRunning) => {
      if (isRunning) onSlice(runnable);
    },
  });
}

export function testScript(options: TestScriptOptions = {}): TestScript {
  const limits = { ...LIMITS.lua, ...options.limits };
  const scripts = new Scripts({
    clock: options.clock ?? new TestClock(),
    monotonicMs: () => system.monotonicMs(),
    processorMs: options.processorMs ?? processorMs,
    scheduler: options.scheduler ?? testScheduler(options.limits),
    limits,
    seed: () => [1n, 2n],
  });
  const printed: string[] = [];
  const warned: string[] = [];
  const failures: LuaFailure[] = [];
  const paused: number[] = [];
  const script = scripts.create({
    kind: 'test',
    memoryBytes: options.memoryBytes ?? 32 * MIB,
    libraries: options.libraries ?? [],
    functions: options.functions ?? {},
    modules: (name) => options.modules?.[name],
    print: (text) => printed.push(text),
    warn: (text) => warned.push(text),
    overlaps: options.overlaps ?? true,
    timeZone: () => options.timeZone ?? 'UTC',
    onJobFailure: (failure) => failures.push(failure),
    onSettled: () => undefined,
    onPaused: (durationMs) => paused.push(durationMs),
    onFault: (name, error) => {
      throw new Error(`host function ${name} failed`, { cause: error });
    },
  });
  return {
    script,
    printed,
    warned,
    failures,
    paused,
    run: async (source, file = 'main.lua') => {
      try {
        await script.run(Buffer.from(source), file);
        return undefined;
      } catch (error) {
        if (error instanceof LuaFailure) return error;
        throw error;
      }
    },
  };
}
