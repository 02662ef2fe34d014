import { Buffer } from 'node:buffer';
import { isDeepStrictEqual } from 'node:util';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import { PortFault, reasonOf } from './modbus-fault.ts';
import { RetryPause, TurnQueue } from './turn-queue.ts';
import { WaitingCall } from './waiting-call.ts';

/** Settings of a serial line. */
export interface SerialSettings {
  baudRate: number;
  dataBits: 5 | 6 | 7 | 8;
  parity: 'N' | 'E' | 'O';
  stopBits: 1 | 2;
}

/** Time of one character: start bit, data, parity, stop. */
export function characterMs(settings: SerialSettings): DurationMs {
  const bits = 1 + settings.dataBits + (settings.parity === 'N' ? 0 : 1) + settings.stopBits;
  return (bits * 1_000) / settings.baudRate;
}

/** An open line. */
export interface SerialLine {
  /** Resolves when the system has taken the bytes. @throws Error when the line is gone */
  write(bytes: Buffer): Promise<void>;
  close(): void;
}

/** Opens the line; `onEnd` is called once, when it goes away by itself. @throws Error */
export type OpenSerialLine = (
  settings: SerialSettings,
  on: { onBytes: (bytes: Buffer) => void; onEnd: (reason: string) => void },
) => Promise<SerialLine>;

/** Access to the port during one turn. */
export interface SerialTurn {
  /** @throws PortFault */
  write(bytes: Buffer): Promise<void>;
  /**
   * Up to `countMax` bytes as soon as so many are there, or what is there after the time, or once aborted.
   * @throws PortFault timeout when there is nothing
   */
  read(countMax: number, timeoutMs: DurationMs, signal?: AbortSignal): Promise<Buffer>;
  /** Bytes that have arrived within `timeoutMs`, at least one; undefined when none did. */
  next(timeoutMs: DurationMs, signal?: AbortSignal): Promise<Buffer | undefined>;
  /** Takes bytes that have arrived and were not read. */
  flush(): Buffer;
  /** Time since the last byte arrived, or the line was opened. */
  quietMs(): DurationMs;
  /**
   * Throws away what is late: the answer to the last question, where it was waited for and did not come. `isCut`: the rest
   * of it, too, where fewer bytes came than were to be read.
   */
  settle(isCut: boolean): Promise<void>;
  readonly settings: SerialSettings;
}

/** The user of a line, who writes and waits for the answer; compared by identity. */
type SerialUser = number | object;

/** The last bytes written. Bytes do not name their question: what arrives is taken for its answer. */
interface Question {
  by: SerialUser;
  answer: 'not waited for' | 'missing' | 'cut' | 'there';
  /** Until then it, or the rest of it, may still come. */
  lateUntilMs: MonotonicMs;
}

/** Order of waiting users: turns go round between owners, then between units. */
interface TurnWish {
  /** False when its turn comes: it has none. */
  isWanted?: (() => boolean) | undefined;
  owner?: unknown;
  unitId?: number;
}

const VISITOR = Symbol('visitor');

interface SerialPortOptions {
  open: OpenSerialLine;
  settings: SerialSettings;
  clock: Clock;
  limits: Limits['field'];
  /** The port cannot be opened, or went away; called for each attempt. */
  onFailed?: (reason: string) => void;
  /** It has been opened. */
  onOpened?: () => void;
  /**
   * The line is behind a serial server, which sets it: settings only say how long its bytes take. The connection is closed
   * after `idleMs` without use, and dialled again after silence that may mean that the server is gone.
   */
  isRemote?: boolean;
}

/**
 * One serial port, shared by everyone who names it. Users take turns and have it to themselves in their turn;
 * it is opened when somebody needs it and opened again, with growing pauses, after it went away (a pulled
 * USB adapter).
 */
export class SerialPort {
  readonly #options: SerialPortOptions;
  readonly #clock: Clock;
  readonly #limits: Limits['field'];
  readonly #pause: RetryPause;
  readonly #inbox: Inbox;
  #wanted: SerialSettings;
  /** Settings of the line that is open, or was open last. */
  #settings: SerialSettings;
  #line: SerialLine | undefined;
  /** The line is opened again before its next use. */
  #isStale = false;
  #heardAtMs: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** The present line; what comes of one before it means nothing. */
  #opening: symbol | undefined;
  #lastFailure = '';
  #question: Question | undefined;
  readonly #queue = new TurnQueue<() => Promise<void>>();
  #isTaken = false;
  #idleTimer: Timer | undefined;
  /** Users that wait or have their turn, and when the last one's ended. */
  #users = 0;
  #usedUntilMs: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(options: SerialPortOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#pause = new RetryPause(this.#limits);
    this.#inbox = new Inbox(this.#clock, this.#limits.serialBufferBytes);
    this.#wanted = options.settings;
    this.#settings = this.#wanted;
  }

  /**
   * Runs `use` when it is this user's turn, with the line open. What came, or may still come, for another user's
   * question is not there for him. @throws PortFault, timeout too when it is not wanted any more by then, or what `use`
   * throws
   */
  inTurn<T>(
    user: SerialUser,
    use: (turn: SerialTurn) => Promise<T>,
    { isWanted, owner = user, unitId = 0 }: TurnWish = {},
  ): Promise<T> {
    this.#users += 1;
    const useIfWanted = (turn: SerialTurn): Promise<T> => {
      if (isWanted?.() === false) throw new PortFault('timeout', 'timeout');
      return use(turn);
    };
    const take = (): Promise<T> => this.#take(user, useIfWanted, this.#wanted);
    return this.#enqueue(owner, unitId, take).finally(() => {
      this.#users -= 1;
      this.#usedUntilMs = this.#clock.monotonicMs();
    });
  }

  /**
   * The same for a scan, which is no user of the port: with its own settings for this turn, and tried at once even
   * after failures.
   */
  visit<T>(user: SerialUser, settings: SerialSettings, use: (turn: SerialTurn) => Promise<T>): Promise<T> {
    return this.#enqueue(VISITOR, 0, () => {
      this.#pause.succeeded();
      return this.#take(user, use, settings);
    });
  }

  /** The line is behind a serial server. */
  get isRemote(): boolean {
    return this.#options.isRemote ?? false;
  }

  /** Somebody uses it, or did within a while. */
  get isUsed(): boolean {
    return this.#users > 0 || this.#clock.monotonicMs() - this.#usedUntilMs < this.#limits.idleMs;
  }

  /** Sets other settings from the next turn on. */
  configure(next: SerialSettings): void {
    this.#wanted = next;
  }

  get settings(): SerialSettings {
    return this.#wanted;
  }

  close(): void {
    this.#idleTimer?.cancel();
    this.#line?.close();
    this.#end('closed');
  }

  #enqueue<T>(owner: unknown, unitId: number, take: () => Promise<T>): Promise<T> {
    if (this.#queue.count >= this.#limits.queuedRequests)
      return Promise.reject(new PortFault('overloaded', 'too many requests are waiting'));
    return new Promise((resolve, reject) => {
      this.#queue.push(owner, unitId, () => take().then(resolve, reject));
      if (!this.#isTaken) void this.#serve();
    });
  }

  async #serve(): Promise<void> {
    this.#isTaken = true;
    this.#idleTimer?.cancel();
    for (let turn = this.#queue.shift(); turn; turn = this.#queue.shift()) await turn();
    this.#isTaken = false;
    if (this.isRemote) this.#idleTimer = this.#clock.setTimer(this.#limits.idleMs, () => this.close());
  }

  #lose(reason: string): void {
    this.#lastFailure = reason;
    this.#options.onFailed?.(reason);
    this.#pause.failed(this.#clock.monotonicMs());
    this.#end(reason);
  }

  #end(reason: string): void {
    this.#opening = undefined;
    this.#line = undefined;
    this.#inbox.end(reason);
  }

  async #ready(settings: SerialSettings): Promise<SerialLine> {
    const isSet = this.isRemote || isDeepStrictEqual(this.#settings, settings);
    if (this.#line && isSet && !this.#isStale) {
      this.#settings = settings;
      return this.#line;
    }
    this.close();
    if (this.#pause.isResting(this.#clock.monotonicMs()))
      throw new PortFault('connection_failed', this.#lastFailure);
    this.#inbox.begin();
    this.#settings = settings;
    const opening = Symbol('opening');
    this.#opening = opening;
    const isOver = (): boolean => this.#opening !== opening;
    let isHeard = false;
    try {
      const opened = await this.#options.open(settings, {
        onBytes: (bytes) => {
          if (isOver()) return;
          isHeard = true;
          this.#heardAtMs = this.#clock.monotonicMs();
          this.#inbox.add(bytes);
        },
        onEnd: (reason) => {
          if (isOver()) return;
          // Serial servers close connections that were used, some after each answer: no failure.
          if (isHeard && this.isRemote) this.#end(reason);
          else this.#lose(reason);
        },
      });
      if (isOver()) {
        opened.close();
        throw new Error('closed');
      }
      this.#line = opened;
      this.#isStale = false;
      this.#heardAtMs = this.#clock.monotonicMs();
      this.#pause.succeeded();
      this.#options.onOpened?.();
      return opened;
    } catch (error) {
      this.#lose(reasonOf(error));
      throw new PortFault('connection_failed', this.#lastFailure, error);
    }
  }

  async #take<T>(
    user: SerialUser,
    use: (turn: SerialTurn) => Promise<T>,
    settings: SerialSettings,
    isSecondTry = false,
  ): Promise<T> {
    const opened = await this.#ready(settings);
    if (this.#question !== undefined && this.#question.by !== user) await this.#settle();
    let isWritten = false;
    const turn = this.#turnOf(user, opened, () => (isWritten = true));
    try {
      return await use(turn);
    } catch (error) {
      // A serial server closed the connection behind the last answer, before anything was sent.
      const isCut = error instanceof PortFault && error.kind === 'connection_failed' && !isWritten;
      if (!isCut || isSecondTry || !this.isRemote) throw error;
      return this.#take(user, use, settings, true);
    }
  }

  #turnOf(user: SerialUser, opened: SerialLine, onWrite: () => void): SerialTurn {
    return {
      settings: this.#settings,
      write: async (bytes) => {
        onWrite();
        this.#question = { by: user, answer: 'not waited for', lateUntilMs: 0 };
        this.#noteHeard('not waited for');
        try {
          await opened.write(bytes);
        } catch (error) {
          throw new PortFault('connection_failed', reasonOf(error), error);
        }
      },
      read: async (countMax, timeoutMs, signal) => {
        const bytes = await this.#inbox.read(countMax, timeoutMs, signal);
        if (bytes.length >= countMax) this.#noteHeard('there', 0);
        else this.#noteHeard(bytes.length === 0 ? 'missing' : 'cut');
        if (bytes.length === 0) throw new PortFault('timeout', 'timeout');
        return bytes;
      },
      next: async (timeoutMs, signal) => {
        const bytes = await this.#inbox.next(timeoutMs, signal);
        this.#noteHeard(bytes === undefined ? 'missing' : 'there');
        return bytes;
      },
      flush: () => this.#inbox.flush(),
      quietMs: () => this.#clock.monotonicMs() - this.#heardAtMs,
      settle: async (isCut) => {
        const answer = this.#question?.answer;
        if (answer === 'missing' || (isCut && answer === 'cut')) await this.#settle();
      },
    };
  }

  /** Throws away what is, or may still come as, the answer to the last question. */
  async #settle(): Promise<void> {
    const lateMs = (this.#question?.lateUntilMs ?? 0) - this.#clock.monotonicMs();
    if (lateMs > 0) await this.#clock.sleep(lateMs);
    this.#inbox.flush();
    this.#question = undefined;
  }

  /** `lateMs`: more of it may come so much later. */
  #noteHeard(answer: Question['answer'], lateMs = this.#limits.lateAnswerMs): void {
    const question = this.#question;
    // Silence behind an answer.
    if (question === undefined || (answer === 'missing' && question.answer === 'there')) return;
    const nowMs = this.#clock.monotonicMs();
    question.answer = answer;
    question.lateUntilMs = nowMs + lateMs;
    // A server that lost its power does not say so.
    const isSilent = answer === 'missing' && nowMs - this.#heardAtMs >= this.#limits.serverSilenceMs;
    if (isSilent && this.isRemote) this.#isStale = true;
  }
}

/** Received bytes that were not read, bounded: the oldest are dropped. */
class Inbox {
  readonly #reader: WaitingCall;
  readonly #bytesMax: number;
  #held: Buffer = Buffer.alloc(0);
  #ended: string | undefined;

  constructor(clock: Clock, bytesMax: number) {
    this.#reader = new WaitingCall(clock);
    this.#bytesMax = bytesMax;
  }

  begin(): void {
    this.#held = Buffer.alloc(0);
    this.#ended = undefined;
  }

  add(bytes: Buffer): void {
    this.#held = Buffer.concat([this.#held, bytes]);
    this.#held = this.#held.subarray(Math.max(0, this.#held.length - this.#bytesMax));
    this.#reader.wake();
  }

  end(reason: string): void {
    this.#ended = reason;
    this.#reader.wake();
  }

  /** Up to `countMax` bytes as soon as so many are there; after the time, or once aborted, what there is. */
  async read(countMax: number, timeoutMs: DurationMs, signal?: AbortSignal): Promise<Buffer> {
    await this.#waitFor(Math.min(countMax, this.#bytesMax), timeoutMs, signal);
    return this.#take(countMax);
  }

  async next(timeoutMs: DurationMs, signal?: AbortSignal): Promise<Buffer | undefined> {
    await this.#waitFor(1, timeoutMs, signal);
    return this.#held.length === 0 ? undefined : this.flush();
  }

  flush(): Buffer {
    return this.#take(this.#held.length);
  }

  #take(countMax: number): Buffer {
    const taken = this.#held.subarray(0, countMax);
    this.#held = this.#held.subarray(countMax);
    return taken;
  }

  async #waitFor(count: number, timeoutMs: DurationMs, signal?: AbortSignal): Promise<void> {
    const wake = (): void => this.#reader.wake();
    signal?.addEventListener('abort', wake);
    const end = await this.#reader.wait((isLate) => {
      if (this.#held.length >= count) return 'over';
      if (this.#ended !== undefined) return new PortFault('connection_failed', this.#ended);
      return isLate || signal?.aborted === true ? 'over' : undefined;
    }, timeoutMs);
    signal?.removeEventListener('abort', wake);
    if (end !== 'over') throw end;
  }
}
