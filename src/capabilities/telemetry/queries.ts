/** Queries on their way to the thread of the store and back: how many at once, in which order, until when. */
import { gatewayError } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { FromEngine, ToEngine } from './engine-messages.ts';
import type { StorePlan } from './query-plan.ts';

export interface Queries {
  /** @throws GatewayError unavailable, when too many wait */
  run(plan: StorePlan, signal: AbortSignal): AsyncGenerator<string>;
  seal(): Promise<void>;
  receive(message: Extract<FromEngine, { kind: 'rows' | 'done' }>): void;
  /** The thread is gone: everybody who waits is told. */
  failAll(): void;
}

interface Running {
  pieces: string[];
  isDone: boolean;
  error: Error | undefined;
  wake: () => void;
}

export function createQueries(options: {
  limits: Limits['telemetry'];
  metrics: Metrics;
  post: (message: ToEngine) => void;
}): Queries {
  const { limits, metrics, post } = options;
  const running = new Map<number, Running>();
  const waiting: (() => void)[] = [];
  let nextId = 1;
  let active = 0;
  metrics.gauge('telemetry_queries', 'Time series queries running and waiting.', ['state'], (gauge) => {
    gauge.set({ state: 'running' }, active);
    gauge.set({ state: 'waiting' }, waiting.length);
  });
  metrics
    .gauge('telemetry_queries_waiting_limit', 'Bound of the waiting ones of telemetry_queries.')
    .set(limits.queriesWaiting);
  const refused = metrics.counter(
    'telemetry_queries_refused_total',
    'Queries refused because too many waited.',
  );

  function open(): { id: number; entry: Running } {
    const entry: Running = { pieces: [], isDone: false, error: undefined, wake: () => undefined };
    const id = nextId++;
    running.set(id, entry);
    return { id, entry };
  }

  async function takeTurn(signal: AbortSignal): Promise<void> {
    if (active >= limits.queriesAtOnce) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      signal.addEventListener('abort', () => resolve(), { once: true });
      await promise;
      const at = waiting.indexOf(resolve);
      if (at >= 0) waiting.splice(at, 1);
    }
    signal.throwIfAborted();
    active++;
  }

  async function* answer(plan: StorePlan, signal: AbortSignal): AsyncGenerator<string> {
    await takeTurn(signal);
    const { id, entry } = open();
    const onAbort = (): void => entry.wake();
    signal.addEventListener('abort', onAbort);
    post({ kind: 'query', id, plan });
    try {
      for (;;) {
        signal.throwIfAborted();
        const piece = entry.pieces.shift();
        if (piece !== undefined) {
          yield piece;
          post({ kind: 'more', id });
        } else if (entry.isDone) break;
        else
          await new Promise<void>((resolve) => {
            entry.wake = resolve;
          });
      }
      if (entry.error) throw entry.error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      if (!entry.isDone) post({ kind: 'cancel', id });
      running.delete(id);
      active--;
      waiting.shift()?.();
    }
  }

  return {
    run: (plan, signal) => {
      if (active >= limits.queriesAtOnce && waiting.length >= limits.queriesWaiting) {
        refused.inc();
        throw gatewayError('unavailable', 'unavailable', 'Too many time series queries are waiting.');
      }
      return answer(plan, signal);
    },
    seal: async () => {
      const { id, entry } = open();
      const done = new Promise<void>((resolve) => {
        entry.wake = resolve;
      });
      post({ kind: 'seal', id });
      await done;
      running.delete(id);
      if (entry.error) throw entry.error;
    },
    receive: (message) => {
      const entry = running.get(message.id);
      if (!entry) return;
      if (message.kind === 'rows') entry.pieces.push(message.text);
      else {
        entry.isDone = true;
        if (message.error !== undefined)
          entry.error = new Error('the telemetry store failed to answer', { cause: message.error });
      }
      entry.wake();
    },
    failAll: () => {
      for (const entry of running.values()) {
        entry.isDone = true;
        entry.error = gatewayError('unavailable', 'unavailable', 'The telemetry store was restarted.');
        entry.wake();
      }
    },
  };
}
