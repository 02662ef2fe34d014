/**
 * Modbus TCP to one address. Requests are sent without waiting for earlier answers and matched by transaction
 * id, so that a silent unit behind a gateway does not hold up its neighbours. The connection is made when
 * somebody asks, made again for ever after failures, with growing pauses, and closed when nobody asks:
 *
 *   idle ─request─▶ connecting ─open─▶ open ─60 s without requests─▶ idle
 *                       └─failed─▶ resting (requests fail at once) ─pause over, request─▶ connecting
 *   open ─closed by the device, nonsense, or silence─▶ idle
 */
import type { Duplex } from 'node:stream';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import { AnswerCheck } from './answer-check.ts';
import { failed, type ModbusAnswer, type ModbusFault, reasonOf } from './modbus-fault.ts';
import { decodeAnswer, encodeRequest, isWrite, type ModbusRequest, requestProblem } from './modbus-pdu.ts';
import { createTcpFrameReader, encodeTcpFrame, type TcpFrame } from './modbus-tcp-frame.ts';
import { Pipeline, type Waiting } from './pipeline.ts';
import { RetryPause } from './retry-pause.ts';

/** Opens a connection; rejects when that fails or the signal is aborted. */
type Dial = (signal: AbortSignal) => Promise<Duplex>;

export interface ModbusTcpOptions {
  dial: Dial;
  clock: Clock;
  limits: Limits['field'];
  /** Nobody has asked for `idleMs`; the connection is closed. */
  onIdle?: () => void;
}

interface Request extends Waiting {
  request: ModbusRequest;
  isVisitors: boolean;
  /** It was the only one on its connection, and its answer bore another id all the same. */
  wasMislabelled?: boolean;
  finish: (answer: ModbusAnswer) => void;
}

/** One address or serial line, shared by everyone who names it. */
export type ModbusClient = Pick<ModbusTcp, 'request'>;

export class ModbusTcp {
  readonly #options: ModbusTcpOptions;
  readonly #clock: Clock;
  readonly #limits: Limits['field'];
  readonly #pipeline: Pipeline<Request>;
  readonly #pause: RetryPause;
  /** Until then the device is taken for one that hangs up after each answer. */
  #shortUntilMs: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** Connections in a row that ended after one answer, with others under way. */
  #shortInRow = 0;
  /** The device has shown that an answer does not always bear the id of its request: it gets one at a time, for good. */
  #mixesIds = false;
  #connection: Connection | undefined;
  #check: AnswerCheck<Request>;
  #connecting: AbortController | undefined;
  #lastFailure = '';
  /** Unanswered requests since the last byte. */
  #silentRequests = 0;
  #idleTimer: Timer | undefined;
  /** Told when there is a connection, or why there is none. */
  #arrivals: ((fault: ModbusFault | undefined) => void)[] = [];
  #usedAtMs: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(options: ModbusTcpOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#pipeline = new Pipeline<Request>(this.#limits);
    this.#pause = new RetryPause(this.#limits);
    this.#check = new AnswerCheck(this.#limits.doubtMs);
  }

  /**
   * Sends a request; never rejects and never takes longer than its limit by much: on TCP `timeoutMs` counts
   * from the call, on a serial line from the moment the line is free. No write is sent twice, a read only when its answer may
   * be that of another, and nothing that is not wanted any more when its turn comes.
   */
  request(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: DurationMs = this.#limits.requestMs,
    isWanted?: () => boolean,
  ): Promise<ModbusAnswer> {
    this.#usedAtMs = this.#clock.monotonicMs();
    return this.#ask({ unitId, request, timeoutMs, isVisitors: false, isWanted });
  }

  /** The same for a visitor: units that are silent for him do not make the connection suspicious. */
  visit(unitId: number, request: ModbusRequest, timeoutMs: DurationMs): Promise<ModbusAnswer> {
    return this.#ask({ unitId, request, timeoutMs, isVisitors: true });
  }

  /** Resolves when there is a connection, or with the reason why there is none; does not wait for a pause. */
  reach(): Promise<ModbusFault | undefined> {
    if (this.#connection) return Promise.resolve(undefined);
    this.#pause.succeeded();
    return new Promise((resolve) => {
      this.#arrivals.push(resolve);
      this.#restartIdleTimer();
      this.#connect();
    });
  }

  /** Somebody uses it, or did within a while. */
  get isUsed(): boolean {
    return this.#clock.monotonicMs() - this.#usedAtMs < this.#limits.idleMs;
  }

  #ask(asked: {
    unitId: number;
    request: ModbusRequest;
    timeoutMs: DurationMs;
    isVisitors: boolean;
    isWanted?: (() => boolean) | undefined;
  }): Promise<ModbusAnswer> {
    const { unitId, request, timeoutMs, isVisitors, isWanted } = asked;
    const problem = requestProblem(unitId, request);
    if (problem !== undefined) return Promise.resolve(failed({ kind: 'invalid_argument', reason: problem }));
    if (this.#connection === undefined && this.#pause.isResting(this.#clock.monotonicMs()))
      return Promise.resolve(failed({ kind: 'connection_failed', reason: this.#lastFailure }));
    return new Promise((resolve) => {
      const entry: Request = {
        unitId,
        request,
        isVisitors,
        isWanted,
        finish: (answer) => {
          timer.cancel();
          resolve(answer);
        },
      };
      const timer = this.#clock.setTimer(Math.min(timeoutMs, this.#limits.requestMsMax), () =>
        this.#expire(entry),
      );
      if (!this.#pipeline.add(entry)) return entry.finish(failed({ kind: 'overloaded' }));
      this.#restartIdleTimer();
      this.#connect();
      this.#send();
    });
  }

  /** Fails what waits, lets go of the connection. The client may be used again. */
  close(): void {
    this.#idleTimer?.cancel();
    this.#connecting?.abort(new Error('closed'));
    this.#connecting = undefined;
    this.#letGo();
    this.#pause.succeeded();
    this.#failAll({ kind: 'connection_failed', reason: 'closed' });
  }

  #connect(): void {
    if (this.#connection !== undefined || this.#connecting !== undefined) return;
    const attempt = new AbortController();
    this.#connecting = attempt;
    const limit = this.#clock.setTimer(this.#limits.connectMs, () => attempt.abort(new Error('no answer')));
    void openWithin(this.#options.dial, attempt.signal).then(
      (stream) => {
        limit.cancel();
        if (this.#connecting !== attempt) return void stream.destroy();
        this.#connecting = undefined;
        this.#connection = this.#attach(stream);
        this.#arrive(undefined);
        this.#send();
      },
      (error: unknown) => {
        limit.cancel();
        if (this.#connecting !== attempt) return;
        this.#connecting = undefined;
        this.#pause.failed(this.#clock.monotonicMs());
        this.#failAll({ kind: 'connection_failed', reason: (this.#lastFailure = reasonOf(error)) });
      },
    );
  }

  #attach(stream: Duplex): Connection {
    this.#check = new AnswerCheck(this.#limits.doubtMs);
    return new Connection(stream, {
      onFrame: (frame) => {
        this.#pause.succeeded();
        this.#settle(frame);
        if (!this.#isShort) return this.#send();
        this.#letGo();
        if (this.#pipeline.isWaiting) this.#connect();
      },
      onBytes: () => (this.#silentRequests = 0),
      onEnd: (fault, frames) => {
        this.#connection = undefined;
        if (fault.kind === 'connection_failed') this.#lastFailure = fault.reason;
        this.#noteEnd(frames === 1 && this.#pipeline.isInFlight);
        if (frames > 0) return this.#reconnect(fault);
        // A device that accepts and hangs up at once is not asked faster than one that refuses.
        this.#pause.failed(this.#clock.monotonicMs());
        this.#failAll(fault);
      },
    });
  }

  /** One connection may have ended so by chance, as with a device that starts again. */
  #noteEnd(wasShort: boolean): void {
    this.#shortInRow = wasShort ? this.#shortInRow + 1 : 0;
    if (this.#shortInRow < this.#limits.shortConnectionsInRow) return;
    this.#shortInRow = 0;
    this.#shortUntilMs = this.#clock.monotonicMs() + this.#limits.shortConnectionsMs;
  }

  get #isShort(): boolean {
    return this.#clock.monotonicMs() < this.#shortUntilMs;
  }

  #send(): void {
    if (this.#connection === undefined || this.#check.isDoubted) return;
    this.#pipeline.isSingle = this.#isShort || this.#mixesIds;
    for (const entry of this.#pipeline.takeReady()) {
      const { transactionId = 0, unitId, request } = entry;
      this.#connection.write({ transactionId, unitId, pdu: encodeRequest(request) });
    }
  }

  #settle(frame: TcpFrame): void {
    const judged = this.#check.judge(frame, this.#pipeline.inFlight, this.#clock.monotonicMs());
    if (judged.kind === 'mixed_up') {
      if (judged.unitId === undefined) this.#mixesIds = true;
      else this.#pipeline.sendSingly(judged.unitId);
      return this.#startOver();
    }
    if (judged.kind === 'answer') {
      const { entry } = judged;
      this.#pipeline.answered(frame.transactionId);
      if (frame.unitId === entry.unitId) entry.finish(decodeAnswer(entry.request, frame.pdu));
      else entry.finish(failed({ kind: 'invalid_response', reason: `unit ${frame.unitId} answers` }));
    }
    this.#endDoubt();
  }

  /** Waits for the writes that are under way: they are not sent again. */
  #endDoubt(): void {
    const isWriting = this.#pipeline.inFlight.some(({ request }) => isWrite(request));
    if (this.#check.isDoubted && !isWriting) this.#startOver();
  }

  /**
   * What is under way cannot be told apart any more: it ends with its connection, and reads are asked again on the next. Not
   * for ever: a device that cannot label the answer to a single request is asked twice for each.
   */
  #startOver(): void {
    const isOnly = this.#connection?.requests === 1;
    this.#letGo();
    const sent = this.#pipeline.takeSent();
    const isLost = ({ request, wasMislabelled }: Request): boolean =>
      isWrite(request) || (isOnly && wasMislabelled === true);
    const lost = sent.filter(isLost);
    const again = sent.filter((entry) => !isLost(entry));
    if (isOnly) for (const entry of again) entry.wasMislabelled = true;
    this.#pipeline.addAgain(again);
    for (const { finish } of lost)
      finish(failed({ kind: 'invalid_response', reason: 'answers are mixed up' }));
    if (this.#pipeline.isWaiting) this.#connect();
  }

  #letGo(): void {
    this.#connection?.drop();
    this.#connection = undefined;
  }

  /** What was sent is lost with its connection and not sent again; what still waits gets a new one. */
  #reconnect(fault: ModbusFault): void {
    this.#silentRequests = 0;
    for (const entry of this.#pipeline.takeSent()) entry.finish(failed(fault));
    if (this.#pipeline.isWaiting) this.#connect();
  }

  #arrive(fault: ModbusFault | undefined): void {
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    for (const tell of arrivals) tell(fault);
  }

  #failAll(fault: ModbusFault): void {
    this.#silentRequests = 0;
    this.#arrive(fault);
    for (const entry of this.#pipeline.clear()) entry.finish(failed(fault));
  }

  #expire(entry: Request): void {
    const { transactionId = 0 } = entry;
    const wasSent = this.#pipeline.expired(entry);
    entry.finish(failed({ kind: 'timeout' }));
    if (!wasSent) return;
    this.#check.noteExpired(transactionId, entry, this.#clock.monotonicMs());
    if (this.#check.isDoubted) return this.#endDoubt();
    if (!entry.isVisitors) this.#silentRequests += 1;
    // Perhaps half-open: the other end was restarted and does not know this connection any more.
    const isDead = this.#silentRequests >= this.#limits.silentRequests && this.#pipeline.hopesForNothing;
    // Where ids say nothing, only the end of the connection keeps a late answer from passing for the next one's.
    if (!isDead && !this.#mixesIds) return this.#send();
    this.#letGo();
    this.#reconnect({ kind: 'connection_failed', reason: 'the device does not answer' });
  }

  #restartIdleTimer(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#clock.setTimer(this.#limits.idleMs, () => {
      this.#idleTimer = undefined;
      this.#letGo();
      this.#options.onIdle?.();
    });
  }
}

/** Does not wait for a dial that ignores its signal; what it opens too late is closed. */
function openWithin(dial: Dial, signal: AbortSignal): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(signal.reason as Error);
    signal.addEventListener('abort', giveUp, { once: true });
    dial(signal).then((stream) => {
      if (signal.aborted) stream.destroy();
      signal.removeEventListener('abort', giveUp);
      resolve(stream);
    }, reject);
  });
}

interface ConnectionEvents {
  onFrame: (frame: TcpFrame) => void;
  onBytes: () => void;
  /** `frames`: how many came. */
  onEnd: (fault: ModbusFault, frames: number) => void;
}

class Connection {
  readonly #stream: Duplex;
  readonly #on: ConnectionEvents;
  readonly #reader = createTcpFrameReader();
  #isOver = false;
  #frames = 0;
  #requests = 0;

  constructor(stream: Duplex, on: ConnectionEvents) {
    this.#stream = stream;
    this.#on = on;
    stream.on('data', (chunk: Buffer) => {
      if (this.#isOver) return;
      this.#on.onBytes();
      const frames = this.#reader.read(chunk);
      if (frames === undefined)
        return this.#end({ kind: 'invalid_response', reason: 'what arrived is not Modbus' });
      for (const frame of frames) {
        this.#frames += 1;
        if (!this.#isOver) this.#on.onFrame(frame);
      }
    });
    stream.on('error', (error) => this.#end({ kind: 'connection_failed', reason: reasonOf(error) }));
    const hungUp: ModbusFault = { kind: 'connection_failed', reason: 'closed by the device' };
    stream.on('end', () => this.#end(hungUp));
    stream.on('close', () => this.#end(hungUp));
  }

  /** How many were sent. */
  get requests(): number {
    return this.#requests;
  }

  /** The window of the pipeline bounds what a peer that does not read can make us hold. */
  write(frame: TcpFrame): void {
    this.#requests += 1;
    this.#stream.write(encodeTcpFrame(frame));
  }

  /** Ends it without telling `onEnd`. */
  drop(): void {
    this.#isOver = true;
    this.#stream.destroy();
  }

  #end(fault: ModbusFault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.destroy();
    this.#on.onEnd(fault, this.#frames);
  }
}
