/**
 * Responses on their way to the disk: they share the group commit of state.db, and what depends on them
 * (acknowledgement, waiting callers, events) runs after the sync.
 */
import { gatewayError } from '../../lib/errors.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { GroupCommit } from '../../platform/sqlite/index.ts';
import type { CommandStore, NewResponse } from './store.ts';

export interface ResponseBuffer {
  /** Buffers a response; `onStored` runs once it is on disk. */
  add(response: NewResponse, onStored: () => void): void;
  /** @throws GatewayError unavailable when the disk has not taken data for so long that the buffer is full. */
  requireRoom(payload: string): void;
  /** Resolves when everything buffered until now is on disk; rejects when that cannot be promised. */
  stored(): Promise<void>;
  /** As `stored`, for work that nobody waits for. */
  storeSoon(): void;
  /**
   * Somebody waits for an end: the next commit comes within `hurryMs`, not within the window that spares
   * the card. A command has its own sync at its beginning anyway.
   */
  hurry(): void;
  /** True when an equal response of this execution waits for the disk. */
  holds(response: Pick<NewResponse, 'executionId' | 'state' | 'payload'>): boolean;
  /** What of an execution waits for the disk; `newestMs` is 0 when nothing does. */
  waiting(executionId: string): { count: number; sizeBytes: number; newestMs: number };
}

interface Item {
  response: NewResponse;
  sizeBytes: number;
  onStored: () => void;
}

/** Columns beside the payload. */
const ROW_OVERHEAD_BYTES = 100;

export function createResponseBuffer(options: {
  store: CommandStore;
  commits: GroupCommit;
  log: Log;
  metrics: Metrics;
  clock: Clock;
  bufferedBytes: number;
  hurryMs: number;
}): ResponseBuffer {
  const { store, commits, log, clock, bufferedBytes, hurryMs } = options;
  const items: Item[] = [];
  let sizeBytes = 0;
  let requestedBytes = 0;
  let writtenCount = 0;
  let timer: Timer | undefined;
  const refused = options.metrics.counter(
    'command_responses_refused_total',
    'Responses not taken because the disk took no data.',
  );
  options.metrics.gauge('command_responses_buffered_bytes', 'Responses waiting for a commit.', [], (gauge) =>
    gauge.set(sizeBytes),
  );

  commits.join({
    write: () => {
      writtenCount = items.length;
      for (const { response } of items) store.addResponse(response);
    },
    committed: () => {
      const stored = items.splice(0, writtenCount);
      writtenCount = 0;
      for (const item of stored) sizeBytes -= item.sizeBytes;
      for (const { onStored } of stored) onStored();
    },
  });

  function sizeOf(payload: string): number {
    return Buffer.byteLength(payload) + ROW_OVERHEAD_BYTES;
  }

  function stored(): Promise<void> {
    const bytes = requestedBytes;
    requestedBytes = 0;
    return commits.request(bytes);
  }

  function reportWaiting(error: unknown): void {
    log.warnLimited('responses', 60_000, 'responses wait for the next commit', { error });
  }

  return {
    add: (response, onStored) => {
      const item = { response, sizeBytes: sizeOf(response.payload), onStored };
      items.push(item);
      sizeBytes += item.sizeBytes;
      requestedBytes += item.sizeBytes;
    },
    requireRoom: (payload) => {
      const addedBytes = sizeOf(payload);
      if (sizeBytes + addedBytes <= bufferedBytes && !commits.isFull(addedBytes)) return;
      refused.inc();
      throw gatewayError(
        'unavailable',
        'unavailable',
        'The disk does not take data.',
        undefined,
        commits.failure,
      );
    },
    stored,
    storeSoon: () => {
      stored().catch(reportWaiting);
    },
    hurry: () => {
      timer ??= clock.setTimer(hurryMs, () => {
        timer = undefined;
        commits.flush().catch(reportWaiting);
      });
    },
    holds: ({ executionId, state, payload }) =>
      items.some(
        ({ response }) =>
          response.executionId === executionId && response.state === state && response.payload === payload,
      ),
    waiting: (executionId) => {
      const own = items.filter(({ response }) => response.executionId === executionId);
      return {
        count: own.length,
        sizeBytes: own.reduce((sum, item) => sum + item.sizeBytes, 0),
        newestMs: own.at(-1)?.response.receivedAtMs ?? 0,
      };
    },
  };
}
