/**
 * The inside of a thread that runs scripts. Shared memory shows which run has its slice, so that the main
 * thread can end it when a script is stuck inside the C library.
 */
import { randomBytes } from 'node:crypto';
import { Batcher, OneByOne } from '../../lib/batcher.ts';
import type { Limits } from '../../lib/limits.ts';
import { Scheduler, Scripts, type Runnable } from '#scripting/lua';
import { type Clock, createSystemClock, nextTurn } from '../../platform/clock/index.ts';
import { connectThread, processorMs, type ThreadPort } from '../../platform/threads/index.ts';
import {
  type FromThread,
  type ScriptTypes,
  type ThreadSetup,
  type ToThread,
  type Usage,
  WATCH_WORDS,
} from './messages.ts';

/** A script that runs, or a rule that makes one script after another. */
export interface HostedScript<Types extends ScriptTypes> {
  order(order: Types['order']): void;
  /** Ends it without a call of `over`. Events that it sends while it stops are still handed on. */
  stop(): void;
  sharedChanged?(before: Types['shared']): void;
  /** Its use of the machine. */
  usage?(): Omit<Usage, 'run'>;
}

/** Parts that a run works with. */
export interface RunPort<Types extends ScriptTypes> {
  /** Slices of scripts that are made here count as slices of this run. */
  readonly scripts: Pick<Scripts, 'create' | 'timers'>;
  readonly clock: Clock;
  readonly limits: Pick<Limits, 'lua' | 'rules'>;
  shared: () => Types['shared'];
  tell: (event: Types['event']) => void;
  /** Asks the main thread. Never rejects, and does not resolve once the run is over. */
  request: (request: Types['request']) => Promise<Types['answer']>;
  /** Reports slices of scripts that are made elsewhere. */
  tellSlice: (isRunning: boolean) => void;
  /** Reports that it has ended by itself. */
  over: () => void;
}

type Start<Types extends ScriptTypes> = (
  script: Types['script'],
  port: RunPort<Types>,
) => HostedScript<Types>;

/** Called once by the entry of a thread. @throws Error on the main thread */
export function hostScripts<Types extends ScriptTypes>(start: Start<Types>): void {
  const host = new Host(connectThread<ThreadSetup<Types>, ToThread<Types>[], FromThread<Types>[]>(), start);
  host.listen();
}

interface Call<Types extends ScriptTypes> {
  run: number;
  answer: (answer: Types['answer']) => void;
}

type Port<Types extends ScriptTypes> = ThreadPort<ThreadSetup<Types>, ToThread<Types>[], FromThread<Types>[]>;

class Host<Types extends ScriptTypes> {
  readonly #port: Port<Types>;
  readonly #outgoing: Batcher<FromThread<Types>>;
  readonly #start: Start<Types>;
  readonly #clock = createSystemClock();
  readonly #watch: Int32Array;
  readonly #scripts: Scripts;
  readonly #runOf = new WeakMap<Runnable, number>();
  readonly #runs = new Map<number, HostedScript<Types>>();
  readonly #calls = new Map<number, Call<Types>>();
  #shared: Types['shared'];
  #lastCall = 0;
  #isReleasing = false;

  constructor(port: Port<Types>, start: Start<Types>) {
    const { lua } = port.data.limits;
    this.#port = port;
    this.#outgoing = new Batcher((messages) => port.post(messages));
    this.#start = start;
    this.#shared = port.data.shared;
    this.#watch = new Int32Array(port.data.watch);
    const clock = this.#clock;
    const scheduler = new Scheduler({
      clock,
      nextTurn,
      limits: lua,
      onSlice: (runnable, isRunning) => this.#tellSlice(isRunning ? (this.#runOf.get(runnable) ?? 0) : 0),
    });
    this.#scripts = new Scripts({
      clock,
      monotonicMs: () => clock.monotonicMs(),
      processorMs,
      scheduler,
      limits: lua,
      seed: (bytes = randomBytes) => seedOf(bytes(16)),
    });
  }

  listen(): void {
    const turns = new OneByOne<ToThread<Types>>((message) => this.#receive(message));
    this.#port.onMessage((messages) => turns.add(messages));
  }

  /** A slice of this run begins; 0: the slice has ended. */
  #tellSlice(run: number): void {
    Atomics.add(this.#watch, WATCH_WORDS.slices, 1);
    Atomics.store(this.#watch, WATCH_WORDS.run, run);
  }

  #receive(message: ToThread<Types>): void {
    switch (message.type) {
      case 'start':
        this.#runs.set(message.run, this.#start(message.script, this.#portOf(message.run)));
        break;
      case 'stop':
        this.#runs.get(message.run)?.stop();
        this.#over(message.run);
        break;
      case 'order':
        this.#runs.get(message.run)?.order(message.order);
        break;
      case 'shared': {
        const before = this.#shared;
        this.#shared = message.shared;
        for (const run of this.#runs.values()) run.sharedChanged?.(before);
        break;
      }
      case 'answer': {
        const call = this.#calls.get(message.call);
        this.#calls.delete(message.call);
        call?.answer(message.answer);
        break;
      }
      case 'usage':
        this.#outgoing.add({
          type: 'usage',
          usage: [...this.#runs].flatMap(([run, script]) =>
            script.usage ? [{ run, ...script.usage() }] : [],
          ),
        });
    }
  }

  #portOf(run: number): RunPort<Types> {
    return {
      clock: this.#clock,
      limits: this.#port.data.limits,
      shared: () => this.#shared,
      scripts: {
        timers: this.#scripts.timers,
        create: (options) => {
          const script = this.#scripts.create(options);
          this.#runOf.set(script, run);
          // Unless this is its first script, the run has given up another one.
          this.#releaseSoon();
          return script;
        },
      },
      tell: (event) => {
        this.#outgoing.add({ type: 'event', run, event });
        // If the script is stuck next, what has not been sent is lost with the thread.
        this.#outgoing.flush();
      },
      request: (request) =>
        new Promise((answer) => {
          const call = ++this.#lastCall;
          this.#calls.set(call, { run, answer });
          this.#outgoing.add({ type: 'request', run, call, request });
        }),
      tellSlice: (isRunning) => this.#tellSlice(isRunning ? run : 0),
      over: () => this.#over(run),
    };
  }

  #over(run: number): void {
    this.#releaseSoon();
    for (const [call, { run: of }] of this.#calls) if (of === run) this.#calls.delete(call);
    this.#runs.delete(run);
    this.#outgoing.add({ type: 'over', run });
  }

  /** The memory of an ended state stays until it is collected, and V8 sees little reason to collect it. */
  #releaseSoon(): void {
    if (this.#isReleasing) return;
    this.#isReleasing = true;
    this.#clock.setTimer(this.#port.data.limits.rules.releaseMs, () => {
      this.#isReleasing = false;
      globalThis.gc?.();
    });
  }
}

function seedOf(bytes: Buffer): [bigint, bigint] {
  return [bytes.readBigInt64LE(0), bytes.readBigInt64LE(8)];
}
