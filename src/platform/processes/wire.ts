import { Batcher } from '../../lib/batcher.ts';
import type { Limits } from '../../lib/limits.ts';

/**
 * What goes over the channel between the gateway and a child program. The payloads of `data`, those of
 * one turn together, belong to `protocol/`; the rest is ours. The first message in each direction carries the protocol's version.
 */
export type Payload = string | Uint8Array;

export type ToChild =
  | { kind: 'settings'; version: number; settings: unknown }
  | { kind: 'ping'; id: number }
  /** End in order. */
  | { kind: 'stop' }
  | { kind: 'data'; payloads: readonly Payload[] };

export type ToParent =
  | { kind: 'hello'; version: number }
  | { kind: 'pong'; id: number }
  | { kind: 'data'; payloads: readonly Payload[] };

/** Reads one message; undefined when it is none. Only the form is judged, not the payload. */
export function readMessage<Message extends ToChild | ToParent>(
  raw: unknown,
  kinds: readonly Message['kind'][],
): Message | undefined {
  if (typeof raw !== 'object' || raw === null || !('kind' in raw)) return undefined;
  if (!kinds.some((kind) => kind === raw.kind)) return undefined;
  if (raw.kind === 'data' && !('payloads' in raw && arePayloads(raw.payloads))) return undefined;
  if ('version' in raw && typeof raw.version !== 'number') return undefined;
  return raw as Message;
}

function arePayloads(value: unknown): value is Payload[] {
  return (
    Array.isArray(value) && value.every((each) => typeof each === 'string' || each instanceof Uint8Array)
  );
}

// The sending end of a channel between two processes, the same on both sides, with a bound in bytes.

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(options: {
  /** Writes to the channel; `done` is called when the message has left this process. */
  post: (message: { kind: 'data'; payloads: Payload[] }, done: () => void) => void;
  limits: Pick<Limits['processes'], 'messageBytes' | 'queuedBytes'>;
  onDropped: () => void;
}) {
  const { limits } = options;
  let queuedBytes = 0;
  /** Those of them that are not posted yet. */
  let gatheredBytes = 0;
  let closed = false;
  let waiting: (() => void)[] = [];

  const gathered = new Batcher<Payload>((payloads) => {
    const sizeBytes = gatheredBytes;
    gatheredBytes = 0;
    options.post({ kind: 'data', payloads }, () => {
      if (closed) return;
      queuedBytes -= sizeBytes;
      wake();
    });
  });
  const isDrained = (): boolean => closed || queuedBytes <= limits.queuedBytes / 2;
  function wake(): void {
    if (!isDrained()) return;
    const awake = waiting;
    waiting = [];
    for (const resolve of awake) resolve();
  }

  return {
    /**
     * Hands a payload to the channel, with those of the same turn. False: it was dropped, because it is larger than a
     * message may be or the other side does not read fast enough; the drop is counted.
     */
    send: (payload: Payload) => {
      const sizeBytes = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
      if (closed || sizeBytes > limits.messageBytes || queuedBytes + sizeBytes > limits.queuedBytes) {
        options.onDropped();
        return false;
      }
      queuedBytes += sizeBytes;
      gatheredBytes += sizeBytes;
      gathered.add(payload);
      return true;
    },
    /** Hands over now what was sent: what is posted past the outbox comes behind it. */
    flush: () => gathered.flush(),
    /** Resolves when half of the bound is free again, or when the channel is gone. */
    drained: () => (isDrained() ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve))),
    /** Bytes that the other side has not taken yet. */
    get queuedBytes() {
      return queuedBytes;
    },
    /** True when no messages are accepted any more. */
    get isClosed() {
      return closed;
    },
    /** The channel ends: nothing is queued any more, nobody waits. */
    close: () => {
      gathered.flush();
      closed = true;
      queuedBytes = 0;
      wake();
    },
  };
}
