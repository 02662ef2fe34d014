/**
 * Responses on their way to the disk: they share the group commit of state.db; acknowledgements, waiting callers and events
 * follow after the sync.
 */
import { unavailable } from '../../lib/errors.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import type { Instruments } from '../../platform/metrics/index.ts';
import type { GroupCommit } from '../../platform/sqlite/index.ts';
import type { CommandStore, NewResponse } from './store.ts';

interface Item {
  response: NewResponse;
  sizeBytes: number;
  onStored: () => void;
}

/** Columns beside the payload. */
const ROW_OVERHEAD_BYTES = 100;

interface ResponseBufferOptions extends Instruments {
  store: CommandStore;
  commits: GroupCommit;
  bufferedBytes: number;
  expediteMs: DurationMs;
}

export class ResponseBuffer {
  readonly #options: ResponseBufferOptions;
  readonly #items: Item[] = [];
  /** Callbacks of responses that are committed and not synced yet. */
  #onSynced: (() => void)[] = [];
  readonly #refused;
  readonly #queue;
  #sizeBytes = 0;
  #requestedBytes = 0;
  #writtenCount = 0;
  #isExpedited = false;

  constructor(options: ResponseBufferOptions) {
    this.#options = options;
    const { commits, metrics, store } = options;
    this.#refused = metrics.counter(
      'command_responses_refused_total',
      'Responses not taken because the disk took no data.',
    );
    metrics.measured(
      'command_responses_buffered_bytes',
      'Responses waiting for a commit.',
      () => this.#sizeBytes,
    );
    this.#queue = metrics.queue('command_responses', {
      limit: options.bufferedBytes,
      depth: () => this.#sizeBytes,
    });
    commits.join({
      write: () => {
        this.#writtenCount = this.#items.length;
        for (const { response } of this.#items) store.addResponse(response);
      },
      committed: () => this.#committed(),
      synced: () => this.#synced(),
    });
  }

  /** Buffers a response; `onStored` runs once it is on disk. */
  add(response: NewResponse, onStored: () => void): void {
    const item = { response, sizeBytes: sizeOf(response.payload), onStored };
    this.#items.push(item);
    this.#sizeBytes += item.sizeBytes;
    this.#requestedBytes += item.sizeBytes;
  }

  /** @throws GatewayError unavailable when the disk has not taken data for so long that the buffer is full. */
  requireRoom(payload: string): void {
    const { bufferedBytes, commits } = this.#options;
    const addedBytes = sizeOf(payload);
    if (this.#sizeBytes + addedBytes <= bufferedBytes && !commits.isFull(addedBytes)) return;
    this.#refused.inc();
    this.#queue.dropped();
    const message = 'The disk does not take data.';
    throw unavailable(message, { cause: commits.failure });
  }

  /** Resolves when everything buffered until now is on disk; rejects when that cannot be promised. */
  stored(): Promise<void> {
    const bytes = this.#requestedBytes;
    this.#requestedBytes = 0;
    return this.#options.commits.request(bytes);
  }

  /** As `stored`, when no caller waits for it. */
  storeSoon(): void {
    this.stored().catch((error: unknown) => this.#reportWaiting(error));
  }

  /**
   * A caller waits for the end: the next commit comes within `expediteMs` instead of the longer window that spares
   * the card. Each command is synced once at its beginning anyway.
   */
  expedite(): void {
    const { clock, commits, expediteMs } = this.#options;
    if (this.#isExpedited) return;
    this.#isExpedited = true;
    clock.setTimer(expediteMs, () => {
      this.#isExpedited = false;
      commits.flush().catch((error: unknown) => this.#reportWaiting(error));
    });
  }

  /** True when an equal response of this execution waits for the disk. */
  holds({ executionId, state, payload }: Pick<NewResponse, 'executionId' | 'state' | 'payload'>): boolean {
    return this.#items.some(
      ({ response }) =>
        response.executionId === executionId && response.state === state && response.payload === payload,
    );
  }

  /** Responses of an execution that wait for the disk; `newestMs` is 0 when there are none. */
  waiting(executionId: string): { count: number; sizeBytes: number; newestMs: EpochMs } {
    const own = this.#items.filter(({ response }) => response.executionId === executionId);
    return {
      count: own.length,
      sizeBytes: own.reduce((sum, item) => sum + item.sizeBytes, 0),
      newestMs: own.at(-1)?.response.receivedAtMs ?? 0,
    };
  }

  #committed(): void {
    const stored = this.#items.splice(0, this.#writtenCount);
    this.#writtenCount = 0;
    for (const item of stored) this.#sizeBytes -= item.sizeBytes;
    this.#onSynced.push(...stored.map(({ onStored }) => onStored));
  }

  #synced(): void {
    const onSynced = this.#onSynced;
    this.#onSynced = [];
    for (const onStored of onSynced) onStored();
  }

  #reportWaiting(error: unknown): void {
    this.#options.log.warnLimited('responses', 60_000, 'responses wait for the next commit', { error });
  }
}

function sizeOf(payload: string): number {
  return Buffer.byteLength(payload) + ROW_OVERHEAD_BYTES;
}
