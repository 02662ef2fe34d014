/** The threads that hold the Lua states: started when needed, watched, ended when a script is stuck in one. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { programEntry } from '../../platform/processes/index.ts';
import { startThread, type Thread } from '../../platform/threads/index.ts';
import type { SandboxSite } from '../../protocol/rule-sandbox.ts';
import { type FromThread, type ThreadData, type ToThread, WATCH_WORDS } from './thread-messages.ts';

export interface RuleThread {
  /** For a rule that had to be ended with its thread before; nobody else is placed here. */
  readonly isSolitary: boolean;
  /** Runs placed here. */
  readonly runs: Set<number>;
  post(message: ToThread): void;
}

export interface ThreadEnd {
  /** The run whose slice it was. */
  culprit: number | undefined;
  reason: string;
}

export interface ThreadsOptions {
  clock: Clock;
  limits: Pick<Limits, 'lua' | 'rules'>;
  site: () => SandboxSite;
  onMessage: (thread: RuleThread, message: FromThread) => void;
  /** The thread is gone with all its runs. */
  onEnded: (thread: RuleThread, end: ThreadEnd) => void;
}

class OwnedThread implements RuleThread {
  readonly isSolitary: boolean;
  readonly runs = new Set<number>();
  readonly watch: Int32Array;
  readonly thread: Thread;
  slices = 0;
  sinceMs = 0;
  /** Set when it is being ended by us. */
  reason: string | undefined;

  constructor(parts: { isSolitary: boolean; watch: Int32Array; thread: Thread }) {
    this.isSolitary = parts.isSolitary;
    this.watch = parts.watch;
    this.thread = parts.thread;
  }

  post(message: ToThread): void {
    this.thread.post(message);
  }
}

export class Threads {
  readonly #options: ThreadsOptions;
  readonly #threads = new Set<OwnedThread>();
  #timer: { cancel(): void } | undefined;
  #isStopped = false;

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  get count(): number {
    return this.#threads.size;
  }

  /** Where to place one more run: a thread of its own, or the emptiest of those that are shared. */
  place(isSolitary: boolean): RuleThread {
    const { threads, solitaryThreads } = this.#options.limits.rules;
    const alike = [...this.#threads].filter(
      (thread) => thread.isSolitary === isSolitary && thread.reason === undefined,
    );
    const emptiest = alike.toSorted((a, b) => a.runs.size - b.runs.size)[0];
    const most = isSolitary ? solitaryThreads : threads;
    if (emptiest && (emptiest.runs.size === 0 || alike.length >= most)) return emptiest;
    return this.#start(isSolitary);
  }

  broadcast(message: ToThread): void {
    for (const thread of this.#threads) thread.post(message);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#timer?.cancel();
    await Promise.all([...this.#threads].map(({ thread }) => thread.terminate()));
  }

  #start(isSolitary: boolean): OwnedThread {
    const { clock, limits, site, onMessage, onEnded } = this.#options;
    const shared = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT * Object.keys(WATCH_WORDS).length);
    const data: ThreadData = { site: site(), watch: shared, limits };
    const watch = new Int32Array(shared);
    const thread = startThread({
      entry: programEntry('programs/rule-sandbox/rule-thread'),
      data,
      heapMaxMib: limits.rules.threadHeapMib,
      youngHeapMaxMib: limits.rules.threadYoungHeapMib,
      onMessage: (message) => {
        if (owned.reason === undefined) onMessage(owned, message as FromThread);
      },
      onExit: (error) => {
        this.#threads.delete(owned);
        if (this.#isStopped) return;
        const culprit = Atomics.load(watch, WATCH_WORDS.run);
        const reason = owned.reason ?? error?.message ?? 'the thread ended';
        onEnded(owned, { culprit: culprit === 0 ? undefined : culprit, reason });
      },
    });
    const owned = new OwnedThread({ isSolitary, watch, thread });
    this.#threads.add(owned);
    this.#timer ??= clock.setRepeating(limits.lua.watchIntervalMs, () => this.#look());
    return owned;
  }

  /** A slice that lasts and lasts is stuck where no hook is called. */
  #look(): void {
    const { clock, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    for (const owned of this.#threads) {
      const slices = Atomics.load(owned.watch, WATCH_WORDS.slices);
      const isIdle = Atomics.load(owned.watch, WATCH_WORDS.run) === 0;
      if (isIdle || slices !== owned.slices || owned.sinceMs === 0) {
        owned.slices = slices;
        owned.sinceMs = nowMs;
      } else if (owned.reason === undefined && nowMs - owned.sinceMs >= limits.lua.stuckMs) {
        owned.reason = 'stuck in a built-in function';
        void owned.thread.terminate();
      }
    }
  }
}
