/**
 * The way out of one connection: what is queued for the client is bounded, acknowledgements of one turn
 * leave in one write, and the end is sent after everything else.
 */
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../clock/index.ts';
import type { BrokerMetrics } from './broker-metrics.ts';
import type { MqttLimits } from './types.ts';

interface ChannelOptions {
  stream: Duplex;
  clock: Clock;
  limits: MqttLimits;
  metrics: BrokerMetrics;
  /** More is queued than the limit allows; the channel is destroyed after this call. */
  onOverflow: (queuedBytes: number) => void;
  /** Called once when the stream is closed, on either side. */
  onClosed: () => void;
}

export class Channel {
  readonly #options: ChannelOptions;
  #acks: number[] = [];
  #isEnded = false;
  #isClosed = false;
  #linger: Timer | undefined;
  #whenClosed: (() => void)[] = [];

  constructor(options: ChannelOptions) {
    this.#options = options;
    // A reset connection is an ordinary end.
    options.stream.on('error', () => this.#closed());
    options.stream.on('close', () => this.#closed());
  }

  /** Writes, unless ended. */
  send(chunks: readonly Buffer[]): void {
    const { stream, limits, metrics } = this.#options;
    if (this.#isEnded || !stream.writable) return;
    let sizeBytes = 0;
    if (chunks.length > 1) stream.cork();
    for (const chunk of chunks) {
      sizeBytes += chunk.length;
      stream.write(chunk);
    }
    if (chunks.length > 1) stream.uncork();
    metrics.bytesOut.inc(sizeBytes);
    if (stream.writableLength <= limits.outboundQueuedBytes) return;
    metrics.outbound.dropped();
    this.#options.onOverflow(stream.writableLength);
    stream.destroy();
  }

  /**
   * Sends PUBACK, PUBREC or PUBCOMP at the end of this turn; those of one group commit leave together. False: the
   * connection has ended.
   */
  acknowledge(packetType: number, packetId: number): boolean {
    if (this.#isEnded || this.#isClosed) return false;
    if (this.#acks.length === 0) process.nextTick(() => this.#flush());
    this.#acks.push((packetType << 16) | packetId);
    return true;
  }

  /** Sends the end after what is queued; what still arrives is discarded, so that the end is no reset. */
  end(): void {
    if (this.#isEnded) return;
    this.#flush();
    this.#isEnded = true;
    if (this.#isClosed) return;
    const { stream, clock, limits } = this.#options;
    this.#linger = clock.setTimer(limits.closeTimeoutMs, () => stream.destroy());
    stream.end();
    stream.resume();
  }

  whenClosed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#isClosed) resolve();
      else this.#whenClosed.push(resolve);
    });
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#linger?.cancel();
    this.#options.stream.destroy();
    this.#options.onClosed();
    for (const resolve of this.#whenClosed) resolve();
  }

  #flush(): void {
    const acks = this.#acks;
    if (acks.length === 0) return;
    this.#acks = [];
    const bytes = Buffer.allocUnsafe(acks.length * 4);
    let offset = 0;
    for (const ack of acks) {
      // The three kinds have no flags in their first byte (table 2.2).
      bytes[offset] = (ack >> 16) << 4;
      bytes[offset + 1] = 2;
      bytes[offset + 2] = (ack >> 8) & 0xff;
      bytes[offset + 3] = ack & 0xff;
      offset += 4;
    }
    this.send([bytes]);
  }
}
