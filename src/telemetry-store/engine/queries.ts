/** Queries to the thread of the store: bounds their number, keeps their order, ends them when aborted. */
import { unavailable } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Piece, PieceOf, StorePlan } from '../query/answer.ts';
import type { Changes, ChangesPlan } from './changes.ts';
import type { FromEngine, ToEngine } from './messages.ts';

interface Running {
  pieces: Piece[];
  changes?: Changes | undefined;
  isDone: boolean;
  error: Error | undefined;
  wake: () => void;
}

export class Queries {
  readonly #limits: Pick<Limits['telemetry'], 'queriesAtOnce' | 'queriesWaiting'>;
  readonly #post: (message: ToEngine) => void;
  readonly #refused: { inc: () => void };
  readonly #queue: { dropped: () => void };
  readonly #running = new Map<number, Running>();
  readonly #waiting: (() => void)[] = [];
  #nextId = 1;
  #active = 0;

  constructor(options: {
    limits: Pick<Limits['telemetry'], 'queriesAtOnce' | 'queriesWaiting'>;
    metrics: Metrics;
    post: (message: ToEngine) => void;
  }) {
    const { metrics } = options;
    this.#limits = options.limits;
    this.#post = options.post;
    metrics.gauge('telemetry_queries', 'Time series queries running and waiting.', ['state'], (gauge) => {
      gauge.set({ state: 'running' }, this.#active);
      gauge.set({ state: 'waiting' }, this.#waiting.length);
    });
    metrics
      .gauge('telemetry_queries_waiting_limit', 'Bound of the waiting ones of telemetry_queries.')
      .set(this.#limits.queriesWaiting);
    this.#queue = metrics.queue('telemetry_queries', {
      limit: this.#limits.queriesWaiting,
      depth: () => this.#waiting.length,
    });
    this.#refused = metrics.counter(
      'telemetry_queries_refused_total',
      'Queries refused because too many waited.',
    );
  }

  /** @throws GatewayError unavailable, when too many wait */
  run<Plan extends StorePlan>(plan: Plan, signal: AbortSignal): AsyncGenerator<PieceOf<Plan>> {
    const { queriesAtOnce, queriesWaiting } = this.#limits;
    if (this.#active >= queriesAtOnce && this.#waiting.length >= queriesWaiting) {
      this.#refused.inc();
      this.#queue.dropped();
      throw unavailable('Too many time series queries are waiting.');
    }
    return this.#answer(plan, signal);
  }

  /** Resolves when everything is sealed. */
  async seal(): Promise<void> {
    const { error } = await this.#ask((id) => ({ kind: 'seal', id }));
    if (error) throw error;
  }

  async changes(plan: ChangesPlan): Promise<Changes> {
    const { changes, error } = await this.#ask((id) => ({ kind: 'changes', id, plan }));
    if (changes) return changes;
    throw error ?? new Error('the telemetry store did not answer');
  }

  receive(message: Extract<FromEngine, { kind: 'piece' | 'done' }>): void {
    const entry = this.#running.get(message.id);
    if (!entry) return;
    if (message.kind === 'piece') {
      entry.pieces.push(message.piece);
      entry.isDone = message.isLast;
    } else {
      entry.isDone = true;
      entry.changes = message.changes;
      if (message.error !== undefined)
        entry.error = new Error('the telemetry store failed to answer', { cause: message.error });
    }
    entry.wake();
  }

  /** The thread ended: every request fails. */
  failAll(): void {
    for (const entry of this.#running.values()) {
      entry.isDone = true;
      entry.error = unavailable('The telemetry store was restarted.');
      entry.wake();
    }
  }

  #open(): { id: number; entry: Running } {
    const entry: Running = { pieces: [], isDone: false, error: undefined, wake: () => undefined };
    const id = this.#nextId++;
    this.#running.set(id, entry);
    return { id, entry };
  }

  /** A request with a single answer. */
  async #ask(message: (id: number) => ToEngine): Promise<Running> {
    const { id, entry } = this.#open();
    const answered = new Promise<void>((resolve) => {
      entry.wake = resolve;
    });
    this.#post(message(id));
    await answered;
    this.#running.delete(id);
    return entry;
  }

  async #takeTurn(signal: AbortSignal): Promise<void> {
    if (this.#active >= this.#limits.queriesAtOnce) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      const at = this.#waiting.indexOf(resolve);
      if (at >= 0) this.#waiting.splice(at, 1);
    }
    signal.throwIfAborted();
    this.#active++;
  }

  async *#answer<Plan extends StorePlan>(plan: Plan, signal: AbortSignal): AsyncGenerator<PieceOf<Plan>> {
    await this.#takeTurn(signal);
    const { id, entry } = this.#open();
    const onAbort = (): void => entry.wake();
    signal.addEventListener('abort', onAbort);
    this.#post({ kind: 'query', id, plan });
    try {
      for (;;) {
        signal.throwIfAborted();
        const piece = entry.pieces.shift();
        if (piece !== undefined) {
          yield piece as PieceOf<Plan>;
          if (!entry.isDone) this.#post({ kind: 'more', id });
        } else if (entry.isDone) break;
        else
          await new Promise<void>((resolve) => {
            entry.wake = resolve;
          });
      }
      if (entry.error) throw entry.error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (!entry.isDone) this.#post({ kind: 'cancel', id });
      this.#running.delete(id);
      this.#active--;
      this.#waiting.shift()?.();
    }
  }
}
