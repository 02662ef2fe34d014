/** The form in which a script runs, what the host offers to it, and how a run ends. */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { LuaError, LuaResult, LuaValue } from './values.ts';
import type { Pointer } from './wasm.ts';

/** Results of a function of the host for the script, in order. */
export type HostResult = readonly LuaResult[];

/** A function of the host that prelude code calls as `host.<name>(…)`. @throws LuaError */
export type HostFunction = ((values: LuaValue[]) => HostResult | void) | { readonly waits: WaitingCall };

type WaitingCall = (
  values: LuaValue[],
  deadlineMs?: MonotonicMs,
  turn?: LuaTurn,
) => Promise<HostResult | void> | HostResult;

/**
 * The script's task waits for the promise; a LuaError it rejects with is raised in the script. What is known already
 * is returned without one, and the script goes on. `deadlineMs`: when the task is given up, by the script's clock;
 * undefined: never.
 */
export const waiting = (call: WaitingCall): HostFunction => ({ waits: call });

/** Which task calls, and how often it was run on: nothing happens to its script within one slice. */
export interface LuaTurn {
  readonly slice: number;
  /** Notes of functions of the host about the task; gone with it. */
  note?: unknown;
}

export type FailureReason = 'error' | 'syntax' | 'time' | 'memory' | 'stopped';

/** Why a task ended without a result. */
export class LuaFailure extends Error {
  readonly reason: FailureReason;
  /** Innermost call first. */
  readonly traceback: readonly string[];

  constructor(reason: FailureReason, message: string, traceback: readonly string[] = []) {
    super(message);
    this.name = 'LuaFailure';
    this.reason = reason;
    this.traceback = traceback;
  }

  /** Message and traceback. */
  get text(): string {
    if (this.traceback.length === 0) return this.message;
    return [this.message, 'stack traceback:', ...this.traceback.map((line) => `\t${line}`)].join('\n');
  }
}

export type Outcome =
  | { kind: 'done'; values: LuaValue[] }
  | { kind: 'waiting'; promise: Promise<HostResult | void> }
  | { kind: 'preempted' }
  | { kind: 'failed'; failure: LuaFailure };

export interface Task extends LuaTurn {
  readonly thread: Pointer;
  readonly reference: number;
  /** The next input of the prelude: the call at the start, then the results of each wait. */
  inbox: HostResult | LuaError;
  /** Time of the processor since the start or the last wait. */
  turnMs: DurationMs;
  /** When it is given up, by the script's clock; undefined: never, or not begun. */
  deadlineMs: MonotonicMs | undefined;
  slice: number;
}
