/** The sending end of a channel between two processes, the same on both sides, with a bound in bytes. */
import type { Limits } from '../../lib/limits.ts';
import type { Payload } from './wire.ts';

export type Outbox = ReturnType<typeof createOutbox>;

export function createOutbox(options: {
  /** Writes to the channel; `done` is called when the message has left this process. */
  post: (message: { kind: 'data'; payload: Payload }, done: () => void) => void;
  limits: Pick<Limits['processes'], 'messageBytes' | 'queuedBytes'>;
  onDropped: () => void;
}) {
  const { limits } = options;
  let queuedBytes = 0;
  let closed = false;
  let waiting: (() => void)[] = [];

  const isDrained = (): boolean => closed || queuedBytes <= limits.queuedBytes / 2;
  function wake(): void {
    if (!isDrained()) return;
    const awake = waiting;
    waiting = [];
    for (const resolve of awake) resolve();
  }

  return {
    /**
     * Hands a payload to the channel. False: it was dropped, because it is larger than a message may be or the
     * other side does not read fast enough; the drop is counted.
     */
    send: (payload: Payload) => {
      const sizeBytes = typeof payload === 'string' ? Buffer.byteLength(payload) : payload.byteLength;
      if (closed || sizeBytes > limits.messageBytes || queuedBytes + sizeBytes > limits.queuedBytes) {
        options.onDropped();
        return false;
      }
      queuedBytes += sizeBytes;
      options.post({ kind: 'data', payload }, () => {
        if (closed) return;
        queuedBytes -= sizeBytes;
        wake();
      });
      return true;
    },
    /** Resolves when half of the bound is free again, or when the channel is gone. */
    drained: () => (isDrained() ? Promise.resolve() : new Promise<void>((resolve) => waiting.push(resolve))),
    /** Bytes that the other side has not taken yet. */
    get queuedBytes() {
      return queuedBytes;
    },
    /** Nothing is taken any more. */
    get isClosed() {
      return closed;
    },
    /** The channel is gone: nothing is queued any more, nobody waits. */
    close: () => {
      closed = true;
      queuedBytes = 0;
      wake();
    },
  };
}
