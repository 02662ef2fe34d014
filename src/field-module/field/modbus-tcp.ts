/**
 * Modbus TCP to one address: one request in flight per connection, so that an answer can only be that to the request
 * before it. The connection is made when somebody asks, made again for ever after failures, with growing pauses, and
 * closed when nobody asks:
 *
 *   idle ─request─▶ connecting ─open─▶ open ─60 s without requests─▶ idle
 *                       └─failed─▶ resting (requests fail at once) ─pause over, request─▶ connecting
 *   open ─closed by the device, nonsense, or a timeout─▶ idle
 */
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import { type Dial, dialWithin } from './dial.ts';
import { failed, type ModbusAnswer, type ModbusFault, reasonOf } from './modbus-fault.ts';
import { isWrite, type ModbusRequest, requestProblem } from './modbus-pdu.ts';
import { ModbusTcpConnection, type OnBytes, type Question } from './modbus-tcp-connection.ts';
import { RetryPause, TurnQueue } from './turn-queue.ts';
import { SilentUnits } from './silent-units.ts';

export interface ModbusTcpOptions {
  dial: Dial;
  clock: Clock;
  limits: Limits['field'];
  /** Nobody has asked for `idleMs`; the connection is closed. */
  onIdle?: () => void;
}

/** The caller of a request. */
export interface Asking {
  /** Turns go round between owners, compared by identity. */
  owner?: unknown;
  /** False when its turn comes: it is not sent. */
  isWanted?: () => boolean;
  onBytes?: OnBytes | undefined;
}

/** The caller of a request, and what its address allows. */
interface TcpAsking extends Asking {
  isLoose?: boolean;
  /** So many connections at once. */
  connections?: number;
}

interface Entry extends Question {
  isVisitors: boolean;
  isWanted: (() => boolean) | undefined;
  queuedAtMs: MonotonicMs;
  isSecondTry: boolean;
  finish: (answer: ModbusAnswer) => void;
}

/** One address or serial line, shared by everyone who names it. */
export interface ModbusClient {
  /** Never rejects. The time limit runs from sending; before, the request waits its turn. */
  request(
    unitId: number,
    request: ModbusRequest,
    timeoutMs?: DurationMs,
    asking?: Asking,
  ): Promise<ModbusAnswer>;
}

const VISITOR = Symbol('visitor');
/** A device with a constant transaction id has 0 or 1, or all bits set. */
const ID_MIN = 256;
const ID_MAX = 65_534;

export class ModbusTcp implements ModbusClient {
  readonly #options: ModbusTcpOptions;
  readonly #clock: Clock;
  readonly #limits: Limits['field'];
  readonly #queue = new TurnQueue<Entry>();
  /** Those that come before the queue: they had their turn. */
  #next: Entry[] = [];
  readonly #units: SilentUnits;
  readonly #pause: RetryPause;
  readonly #connections = new Set<ModbusTcpConnection>();
  #connectionsMax = 1;
  /** The device took no further connection beside those that are open. */
  #isFull = false;
  #dialling: AbortController | undefined;
  #lastFailure = '';
  #lastId = ID_MIN;
  /** The device closes the connection after each answer, as far as is known. */
  #hangsUp = false;
  #idleTimer: Timer | undefined;
  /** Called when there is a connection, or with the reason why there is none. */
  #arrivals: ((fault: ModbusFault | undefined) => void)[] = [];
  #usedAtMs: MonotonicMs = Number.NEGATIVE_INFINITY;

  constructor(options: ModbusTcpOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#units = new SilentUnits(this.#limits);
    this.#pause = new RetryPause(this.#limits);
  }

  /** A write is sent once; a read twice if the device closes the connection without a byte of its answer. */
  request(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: DurationMs = this.#limits.requestMs,
    asking: TcpAsking = {},
  ): Promise<ModbusAnswer> {
    this.#usedAtMs = this.#clock.monotonicMs();
    const { connections = 1 } = asking;
    this.#connectionsMax = Math.max(this.#connectionsMax, Math.min(connections, this.#limits.connectionsMax));
    return this.#ask(unitId, request, timeoutMs, asking, false);
  }

  /** The same for a scan: units that are silent for it rest no longer than before. */
  visit(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: DurationMs,
    isLoose = false,
  ): Promise<ModbusAnswer> {
    return this.#ask(unitId, request, timeoutMs, { owner: VISITOR, isLoose }, true);
  }

  /** Resolves when there is a connection, or with the reason why there is none; does not wait for a pause. */
  reach(): Promise<ModbusFault | undefined> {
    if (this.#connections.size > 0) return Promise.resolve(undefined);
    this.#pause.succeeded();
    return new Promise((resolve) => {
      this.#arrivals.push(resolve);
      this.#restartIdleTimer();
      this.#dial();
    });
  }

  /** Somebody uses it, or did within a while. */
  get isUsed(): boolean {
    return this.#clock.monotonicMs() - this.#usedAtMs < this.#limits.idleMs;
  }

  /** Fails what waits, closes the connections. The client may be used again. */
  close(): void {
    this.#idleTimer?.cancel();
    this.#dialling?.abort(new Error('closed'));
    this.#dialling = undefined;
    this.#closeConnections();
    this.#pause.succeeded();
    this.#failAll({ kind: 'connection_failed', reason: 'closed' });
  }

  #ask(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: DurationMs,
    { owner, isWanted, isLoose = false, onBytes }: TcpAsking,
    isVisitors: boolean,
  ): Promise<ModbusAnswer> {
    const problem = requestProblem(unitId, request);
    if (problem !== undefined) return Promise.resolve(failed({ kind: 'invalid_argument', reason: problem }));
    const nowMs = this.#clock.monotonicMs();
    if (this.#connections.size === 0 && this.#pause.isResting(nowMs))
      return Promise.resolve(failed({ kind: 'connection_failed', reason: this.#lastFailure }));
    if (this.#queue.count >= this.#limits.queuedRequests)
      return Promise.resolve(failed({ kind: 'overloaded' }));
    return new Promise((finish) => {
      this.#queue.push(owner, unitId, {
        unitId,
        request,
        timeoutMs: Math.min(timeoutMs, this.#limits.requestMsMax),
        isLoose,
        onBytes,
        isVisitors,
        isWanted,
        queuedAtMs: nowMs,
        isSecondTry: false,
        finish,
      });
      this.#restartIdleTimer();
      this.#send();
    });
  }

  /** Sends what may be sent now. */
  #send(): void {
    while (this.#next.length + this.#queue.count > 0) {
      const connection = [...this.#connections].find(({ isBusy }) => !isBusy);
      if (connection === undefined) return this.#dial();
      const entry = this.#next.shift() ?? this.#queue.shift();
      if (entry === undefined) return;
      const refusal = this.#refusal(entry);
      if (refusal) entry.finish(failed(refusal));
      else if (isWrite(entry.request) && this.#hangsUp && connection.answers > 0) {
        // It would be lost with the connection.
        this.#connections.delete(connection);
        connection.drop('closed');
        this.#next.unshift(entry);
      } else void this.#exchange(connection, entry);
    }
  }

  #refusal(entry: Entry): ModbusFault | undefined {
    if (entry.isWanted?.() === false) return { kind: 'timeout' };
    if (entry.isVisitors || entry.isSecondTry) return undefined;
    return this.#units.refusal(entry.unitId, entry.queuedAtMs, this.#clock.monotonicMs());
  }

  async #exchange(connection: ModbusTcpConnection, entry: Entry): Promise<void> {
    const beginMs = this.#clock.monotonicMs();
    this.#lastId = this.#lastId < ID_MAX ? this.#lastId + 1 : ID_MIN;
    const { answer, end } = await connection.ask(entry, this.#lastId);
    // Closed from here: everything else has ended as well.
    if (!this.#connections.has(connection)) return entry.finish(answer);
    const nowMs = this.#clock.monotonicMs();
    if (!entry.isVisitors) this.#units.note(entry.unitId, answer, nowMs - beginMs, nowMs);
    if (end === undefined) {
      this.#pause.succeeded();
      if (connection.answers > 1) this.#hangsUp = false;
      // Where ids are ignored, bytes behind a refusal would pass for the next answer.
      if (connection.isOutOfStep || (entry.isLoose && !answer.ok)) {
        this.#connections.delete(connection);
        connection.drop('closed');
      }
    } else {
      this.#connections.delete(connection);
      this.#noteEnd(connection, end !== 'timeout');
      if (end === 'unheard' && !isWrite(entry.request) && !entry.isSecondTry) {
        this.#next.push({ ...entry, isSecondTry: true });
        return this.#send();
      }
      // A device that accepts and hangs up at once is not asked faster than one that refuses.
      if (end !== 'timeout' && connection.answers === 0 && !answer.ok) this.#fail(answer.fault);
    }
    entry.finish(answer);
    this.#send();
  }

  #noteEnd({ answers }: ModbusTcpConnection, isByDevice: boolean): void {
    if (isByDevice && answers > 0) this.#hangsUp = answers === 1;
    this.#isFull = false;
  }

  #dial(): void {
    const { size } = this.#connections;
    if (this.#dialling !== undefined || size >= this.#connectionsMax || (size > 0 && this.#isFull)) return;
    const attempt = new AbortController();
    this.#dialling = attempt;
    void dialWithin(this.#options.dial, this.#clock, this.#limits.connectMs, attempt).then(
      (stream) => {
        if (this.#dialling !== attempt) return void stream.destroy();
        this.#dialling = undefined;
        const connection = new ModbusTcpConnection(stream, this.#clock, () => {
          this.#connections.delete(connection);
          this.#noteEnd(connection, true);
          this.#send();
        });
        this.#connections.add(connection);
        this.#arrive(undefined);
        this.#send();
      },
      (error: unknown) => {
        if (this.#dialling !== attempt) return;
        this.#dialling = undefined;
        if (this.#connections.size > 0) this.#isFull = true;
        else this.#fail({ kind: 'connection_failed', reason: reasonOf(error) });
      },
    );
  }

  #closeConnections(): void {
    const open = [...this.#connections];
    this.#connections.clear();
    for (const connection of open) connection.drop('closed');
  }

  #arrive(fault: ModbusFault | undefined): void {
    const arrivals = this.#arrivals;
    this.#arrivals = [];
    for (const arrived of arrivals) arrived(fault);
  }

  /** There is no connection for a while. */
  #fail(fault: ModbusFault): void {
    if (this.#connections.size > 0) return;
    this.#pause.failed(this.#clock.monotonicMs());
    if ('reason' in fault) this.#lastFailure = fault.reason;
    this.#failAll(fault);
  }

  #failAll(fault: ModbusFault): void {
    this.#arrive(fault);
    const waiting = this.#next;
    this.#next = [];
    for (let entry = this.#queue.shift(); entry; entry = this.#queue.shift()) waiting.push(entry);
    for (const { finish } of waiting) finish(failed(fault));
  }

  #restartIdleTimer(): void {
    this.#idleTimer?.cancel();
    this.#idleTimer = this.#clock.setTimer(this.#limits.idleMs, () => {
      if ([...this.#connections].some(({ isBusy }) => isBusy)) return this.#restartIdleTimer();
      this.#idleTimer = undefined;
      this.#closeConnections();
      this.#options.onIdle?.();
    });
  }
}
