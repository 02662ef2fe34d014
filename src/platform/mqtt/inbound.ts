/**
 * The way in of one connection: bytes are cut into packets, which are handed on unless something holds the reading.
 * Then the stream is paused, so that memory per connection is bounded by limits and not by what the client sends.
 */
import type { Duplex } from 'node:stream';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import { FrameReader, type FrameSink } from './frame-reader.ts';
import type { Share, TurnScheduler, Worker } from './turn-scheduler.ts';

/** Reasons not to read; any of them stops the reading. */
export const HOLD = { login: 1, window: 2, rate: 4, request: 8, turn: 16 } as const;
type Hold = (typeof HOLD)[keyof typeof HOLD];

interface InboundOptions {
  stream: Duplex;
  clock: Clock;
  turns: TurnScheduler;
  /** Takes the packets. */
  sink: FrameSink;
  /** Packets were handed on; the last of this chunk or of this release. */
  onRead: () => void;
}

/** Whose time and rate the packets of a session count against. */
interface Account {
  readonly share: Share;
  account(nowMs: MonotonicMs, sizeBytes: number, workMs: DurationMs): void;
}

export class Inbound implements Worker {
  /** Monotonic and wall time of the chunk that is worked on. */
  nowMs: MonotonicMs;
  wallMs: EpochMs;
  lastPacketMs: MonotonicMs;
  readonly #options: InboundOptions;
  readonly #reader: FrameReader;
  #account: Account | undefined;
  #holds = 0;
  #isStopped = false;
  #workedSinceMs: MonotonicMs;
  #rate: Timer | undefined;

  constructor(options: InboundOptions) {
    const { clock, sink, stream } = options;
    this.#options = options;
    this.nowMs = this.lastPacketMs = this.#workedSinceMs = clock.monotonicMs();
    this.wallMs = clock.wallMs();
    this.#reader = new FrameReader({
      admit: (firstByte, lengthBytes) => sink.admit(firstByte, lengthBytes),
      refuse: (problem) => sink.refuse(problem),
      frame: (firstByte, buffer, start, end) => {
        this.lastPacketMs = this.nowMs;
        sink.frame(firstByte, buffer, start, end);
        if (this.#account) this.#charge(this.#account, end - start);
      },
    });
    stream.on('data', (chunk: Buffer) => this.#take(chunk));
  }

  get isHeld(): boolean {
    return this.#holds !== 0;
  }

  get share(): Share {
    if (!this.#account) throw new Error('the connection has no session yet');
    return this.#account.share;
  }

  /** From here on packets cost their identity time and rate. */
  open(account: Account): void {
    this.#account = account;
  }

  hold(reason: Hold): void {
    this.#holds |= reason;
    this.#reader.hold();
    this.#options.stream.pause();
  }

  release(reason: Hold): void {
    this.#holds &= ~reason;
    if (this.#holds !== 0 || this.#isStopped) return;
    // The silence while not reading was ours.
    this.#begin();
    this.lastPacketMs = this.nowMs;
    this.#reader.release();
    this.#options.onRead();
    if (this.#holds === 0 && !this.#isStopped) this.#options.stream.resume();
  }

  /** Stops reading for this long. */
  holdRate(durationMs: DurationMs): void {
    this.hold(HOLD.rate);
    this.#rate?.cancel();
    this.#rate = this.#options.clock.setTimer(durationMs, () => this.release(HOLD.rate));
  }

  /** The turn of this connection has come. */
  resume(): void {
    this.release(HOLD.turn);
  }

  /** Stops handing on messages. */
  stop(): void {
    this.#isStopped = true;
    this.#reader.stop();
    this.#rate?.cancel();
    if (this.#account) this.#options.turns.forget(this);
  }

  #take(chunk: Buffer): void {
    if (this.#isStopped) return;
    this.#begin();
    if (this.#account) this.#takeTurn(this.#account);
    this.#reader.push(chunk);
    this.#options.onRead();
  }

  #begin(): void {
    const { clock } = this.#options;
    this.nowMs = this.#workedSinceMs = clock.monotonicMs();
    this.wallMs = clock.wallMs();
  }

  /** The cost of a packet counts, and may use up this turn. */
  #charge(account: Account, sizeBytes: number): void {
    const nowMs = this.#options.clock.monotonicMs();
    const workMs = nowMs - this.#workedSinceMs;
    this.#workedSinceMs = nowMs;
    this.#options.turns.spend(account.share, workMs);
    if (this.#isStopped) return;
    account.account(nowMs, sizeBytes, workMs);
    this.#takeTurn(account);
  }

  #takeTurn({ share }: Account): void {
    const { turns } = this.#options;
    if (this.#holds & HOLD.turn || turns.mayGoOn(share)) return;
    this.hold(HOLD.turn);
    turns.wait(this);
  }
}
