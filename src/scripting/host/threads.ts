import { Batcher, OneByOne } from '../../lib/batcher.ts';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { startThread, type Thread } from '../../platform/threads/index.ts';
import {
  type FromThread,
  type ScriptTypes,
  type ThreadSetup,
  type ToThread,
  type Usage,
  WATCH_WORDS,
} from './messages.ts';

/** Why a run lost its thread. */
export interface ThreadLoss {
  /** The run that had its slice; undefined: no run had. */
  culprit: number | undefined;
  /** The main thread ended it because a slice lasted too long. */
  wasStuck: boolean;
  error: Error | undefined;
}

interface RunEvents<Types extends ScriptTypes> {
  onEvent(event: Types['event']): void;
  /** An event that it sent after the order to stop, before it stopped. */
  onLateEvent?(event: Types['event']): void;
  onRequest(request: Types['request'], answer: (answer: Types['answer']) => void): void;
  /** It has ended by itself. */
  onOver?(): void;
  onThreadLost(loss: ThreadLoss): void;
}

interface ScriptThreadsOptions<Types extends ScriptTypes> {
  clock: Clock;
  /** Path of the module that calls `hostScripts`. */
  entry: string;
  limits: Pick<Limits, 'lua' | 'rules'>;
  heapMaxMib: number;
  youngHeapMaxMib: number;
  /** How many threads share the scripts; more are started only when all of these are full. */
  sharedThreads: number;
  scriptsPerThread: number;
  /** How many threads there may be for scripts that once took their thread down. */
  solitaryThreads: number;
  shared: Types['shared'];
  /** For the service log: a thread is gone with this many runs. Called before `onThreadLost` of each. */
  onThreadEnded?: (loss: ThreadLoss, runs: number) => void;
  /** Default: real threads. */
  start?: typeof startThread;
}

/** A late look counts for at most this many intervals. */
const LATE_LOOKS = 4;

/**
 * The threads that hold the Lua states of a program: started when needed, watched, ended when they have no script
 * left or when one is stuck where no hook is called, inside of C. Scripts beside that one lose their thread, too.
 */
export class ScriptThreads<Types extends ScriptTypes> {
  readonly #options: ScriptThreadsOptions<Types>;
  readonly #threads = new Set<HostThread<Types>>();
  #shared: Types['shared'];
  #lastRun = 0;
  #timer: { cancel(): void } | undefined;
  #lookedAtMs: MonotonicMs = 0;
  #isStopped = false;

  constructor(options: ScriptThreadsOptions<Types>) {
    this.#options = options;
    this.#shared = options.shared;
  }

  get count(): number {
    return this.#threads.size;
  }

  /** `isSolitary`: it once took its thread down, and shares one only with scripts that did the same. */
  start(script: Types['script'], events: RunEvents<Types>, isSolitary = false): ScriptRun<Types> {
    const thread = this.#place(isSolitary);
    const run = new ScriptRun(++this.#lastRun, thread, events);
    thread.runs.set(run.number, run);
    thread.post({ type: 'start', run: run.number, script });
    return run;
  }

  /** Sends the shared state to every thread, and to those that are started later. */
  share(shared: Types['shared']): void {
    this.#shared = shared;
    for (const thread of this.#threads) thread.post({ type: 'shared', shared });
  }

  /** Asks for the `usage` of every run, which is updated when the answer comes. */
  askUsage(): void {
    for (const thread of this.#threads) thread.post({ type: 'usage' });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await Promise.all([...this.#threads].map((thread) => thread.end()));
  }

  /** The emptiest that has room, or one more thread while there may be one. */
  #place(isSolitary: boolean): HostThread<Types> {
    const { sharedThreads, solitaryThreads, scriptsPerThread } = this.#options;
    const alike = [...this.#threads].filter((thread) => thread.isSolitary === isSolitary && !thread.isEnding);
    const emptiest = alike
      .filter((thread) => thread.activeRuns < scriptsPerThread)
      .toSorted((a, b) => a.activeRuns - b.activeRuns)[0];
    const most = isSolitary ? solitaryThreads : sharedThreads;
    if (emptiest && (emptiest.activeRuns === 0 || alike.length >= most)) return emptiest;
    return this.#startThread(isSolitary);
  }

  #startThread(isSolitary: boolean): HostThread<Types> {
    const { clock, entry, limits, heapMaxMib, youngHeapMaxMib, start = startThread } = this.#options;
    const turns = new OneByOne<FromThread<Types>>((message) => this.#receive(host, message));
    const host = new HostThread<Types>(isSolitary, (watch) =>
      start({
        entry,
        data: { shared: this.#shared, watch, limits } satisfies ThreadSetup<Types>,
        heapMaxMib,
        youngHeapMaxMib,
        onMessage: (messages) => turns.add(messages as FromThread<Types>[]),
        onExit: (error) => this.#ended(host, error),
      }),
    );
    this.#threads.add(host);
    this.#timer ??= clock.setRepeating(limits.lua.watchIntervalMs, () => this.#look());
    return host;
  }

  #receive(host: HostThread<Types>, message: FromThread<Types>): void {
    if (host.isEnding) return;
    if (message.type === 'usage') {
      for (const { run: number, ...usage } of message.usage) {
        const run = host.runs.get(number);
        if (run) run.usage = usage;
      }
      return;
    }
    // Messages that come after the end of a run are ignored.
    const run = host.runs.get(message.run);
    if (!run) return;
    if (message.type === 'event') {
      if (run.isStopped) run.events.onLateEvent?.(message.event);
      else run.events.onEvent(message.event);
    } else if (message.type === 'over') {
      host.runs.delete(message.run);
      if (!run.isStopped) run.events.onOver?.();
      run.isStopped = true;
      this.#endIfEmpty(host);
    } else if (!run.isStopped)
      run.events.onRequest(message.request, (answer) => {
        if (!run.isStopped) host.post({ type: 'answer', call: message.call, answer });
      });
  }

  /** Scripts come and go: a thread without any is not kept, unless it is the only one for all. */
  #endIfEmpty(host: HostThread<Types>): void {
    if (host.runs.size > 0) return;
    const others = [...this.#threads].filter(
      (other) => other !== host && !other.isSolitary && !other.isEnding,
    );
    if (!host.isSolitary && others.length === 0) return;
    void host.end();
  }

  #ended(host: HostThread<Types>, error: Error | undefined): void {
    if (!this.#threads.delete(host) || this.#isStopped) return;
    const lost = [...host.runs.values()].filter(({ isStopped }) => !isStopped);
    host.runs.clear();
    if (lost.length === 0) return;
    const loss = { culprit: host.runOfSlice, wasStuck: host.isStuck, error };
    this.#options.onThreadEnded?.(loss, lost.length);
    for (const run of lost) run.isStopped = true;
    for (const run of lost) run.events.onThreadLost(loss);
  }

  #look(): void {
    const { clock, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    // A late look means that this process had no processor or stood still: a script need not be stuck.
    const passedMs = Math.min(nowMs - this.#lookedAtMs, LATE_LOOKS * limits.lua.watchIntervalMs);
    this.#lookedAtMs = nowMs;
    for (const host of this.#threads) host.look(passedMs, limits.lua.stuckMs);
  }
}

/** One life of one script. */
export class ScriptRun<Types extends ScriptTypes> {
  readonly number: number;
  readonly events: RunEvents<Types>;
  /** As of the last `askUsage`. */
  usage: Omit<Usage, 'run'> | undefined;
  isStopped = false;
  readonly #thread: HostThread<Types>;

  constructor(number: number, thread: HostThread<Types>, events: RunEvents<Types>) {
    this.number = number;
    this.#thread = thread;
    this.events = events;
  }

  tell(order: Types['order']): void {
    if (!this.isStopped) this.#thread.post({ type: 'order', run: this.number, order });
  }

  /** Ends it; only late events follow. False: it was over already. */
  stop(): boolean {
    if (this.isStopped) return false;
    this.isStopped = true;
    this.#thread.post({ type: 'stop', run: this.number });
    return true;
  }
}

/** A thread and its runs. */
class HostThread<Types extends ScriptTypes> {
  readonly isSolitary: boolean;
  readonly runs = new Map<number, ScriptRun<Types>>();
  readonly #words = new Int32Array(
    new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * Object.keys(WATCH_WORDS).length),
  );
  readonly #thread: Thread;
  readonly #outgoing = new Batcher<ToThread<Types>>((messages) => this.#thread.post(messages));
  #seenSlices = 0;
  /** How long the slice seen last has lasted. */
  #lastedMs: DurationMs = 0;
  isEnding = false;
  isStuck = false;

  constructor(isSolitary: boolean, start: (watch: SharedArrayBuffer) => Thread) {
    this.isSolitary = isSolitary;
    this.#thread = start(this.#words.buffer);
  }

  get activeRuns(): number {
    return [...this.runs.values()].filter(({ isStopped }) => !isStopped).length;
  }

  get runOfSlice(): number | undefined {
    return Atomics.load(this.#words, WATCH_WORDS.run) || undefined;
  }

  post(message: ToThread<Types>): void {
    this.#outgoing.add(message);
  }

  end(): Promise<void> {
    this.isEnding = true;
    this.#outgoing.flush();
    return this.#thread.end();
  }

  /** A slice that lasts and lasts is stuck where no hook is called. */
  look(passedMs: DurationMs, stuckMs: DurationMs): void {
    const slices = Atomics.load(this.#words, WATCH_WORDS.slices);
    const isSame = this.runOfSlice !== undefined && slices === this.#seenSlices;
    this.#seenSlices = slices;
    this.#lastedMs = isSame ? this.#lastedMs + passedMs : 0;
    if (this.isEnding || this.#lastedMs < stuckMs) return;
    this.isStuck = true;
    this.isEnding = true;
    void this.#thread.terminate();
  }
}
