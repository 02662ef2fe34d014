/** One connection of Modbus TCP with one request in flight: whatever else arrives is no answer to it. */
import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';
import type { DurationMs } from '../../lib/time.ts';
import { type Clock, nextTurn, type Timer } from '../../platform/clock/index.ts';
import { failed, type ModbusAnswer, type ModbusFault, reasonOf } from './modbus-fault.ts';
import { decodeAnswer, encodeRequest, type ModbusRequest } from './modbus-pdu.ts';

/** Gets the bytes on the wire as they are sent and received. */
export type OnBytes = (direction: 'sent' | 'received', bytes: Buffer) => void;

/** A request, and the rule that recognises its answer. */
export interface Question {
  unitId: number;
  request: ModbusRequest;
  timeoutMs: DurationMs;
  /** The answer may have another unit id or transaction id. */
  isLoose: boolean;
  onBytes: OnBytes | undefined;
}

/** How a request ended; the connection is over unless it was answered. */
interface Outcome {
  answer: ModbusAnswer;
  /** `unheard`: the device closed the connection before any byte of the answer. */
  end?: 'timeout' | 'unheard' | 'cut';
}

interface Waiting extends Question {
  transactionId: number;
  timer: Timer;
  hasBytes: boolean;
  otherId: boolean;
  finish: (outcome: Outcome) => void;
}

export class ModbusTcpConnection {
  /** Answers so far. */
  answers = 0;
  readonly #stream: Duplex;
  readonly #clock: Pick<Clock, 'setTimer'>;
  readonly #onIdleEnd: () => void;
  readonly #reader = createTcpFrameReader();
  #waiting: Waiting | undefined;
  #isOver = false;
  /** An answer had the id of its request: then no other id is right, however loose the address is. */
  #keepsIds = false;

  /** @param onIdleEnd the device closed it while nothing was in flight */
  constructor(stream: Duplex, clock: Pick<Clock, 'setTimer'>, onIdleEnd: () => void) {
    this.#stream = stream;
    this.#clock = clock;
    this.#onIdleEnd = onIdleEnd;
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('error', (error) => this.#end({ kind: 'connection_failed', reason: reasonOf(error) }));
    const closed: ModbusFault = { kind: 'connection_failed', reason: 'closed by the device' };
    stream.on('end', () => this.#end(closed));
    stream.on('close', () => this.#end(closed));
  }

  get isBusy(): boolean {
    return this.#waiting !== undefined;
  }

  /** Bytes came behind the last answer that are no whole frame: what comes next begins within one. */
  get isOutOfStep(): boolean {
    return this.#reader.restBytes > 0;
  }

  /** Sends a request while none is in flight; never rejects. The time limit runs from now. */
  ask(question: Question, transactionId: number): Promise<Outcome> {
    const { unitId, request, timeoutMs, onBytes } = question;
    return new Promise((resolve) => {
      // What arrived while this process was busy is read after its timers.
      const expire = (): void => void nextTurn().then(() => this.#waiting?.timer === timer && this.#expire());
      const timer: Timer = this.#clock.setTimer(timeoutMs, expire);
      const finish = (outcome: Outcome): void => {
        timer.cancel();
        this.#waiting = undefined;
        resolve(outcome);
      };
      this.#waiting = { ...question, transactionId, timer, hasBytes: false, otherId: false, finish };
      const frame = encodeTcpFrame({ transactionId, unitId, pdu: encodeRequest(request) });
      onBytes?.('sent', frame);
      this.#stream.write(frame);
    });
  }

  /** Ends it; what is in flight fails with the reason. */
  drop(reason: string): void {
    this.#isOver = true;
    this.#stream.destroy();
    this.#waiting?.finish({ answer: failed({ kind: 'connection_failed', reason }), end: 'cut' });
  }

  #read(chunk: Buffer): void {
    if (this.#isOver) return;
    if (this.#waiting) this.#waiting.hasBytes = true;
    this.#waiting?.onBytes?.('received', chunk);
    const frames = this.#reader.read(chunk);
    if (frames === undefined)
      return this.#end({ kind: 'invalid_response', reason: 'what arrived is not Modbus' });
    for (const frame of frames) this.#settle(frame);
  }

  #settle({ transactionId, unitId, pdu }: TcpFrame): void {
    const waiting = this.#waiting;
    // Nobody asked: a second answer.
    if (waiting === undefined) return;
    const isOwn = transactionId === waiting.transactionId;
    this.#keepsIds ||= isOwn;
    if (!isOwn && (this.#keepsIds || !waiting.isLoose)) {
      waiting.otherId = true;
      return;
    }
    this.answers += 1;
    const isOther = unitId !== waiting.unitId && !waiting.isLoose;
    waiting.finish({
      answer: isOther
        ? otherIds(`answers as unit ${unitId}: use unit ${unitId}, or allow other ids (?ids=loose)`)
        : decodeAnswer(waiting.request, pdu),
    });
  }

  #expire(): void {
    const { otherId = false, finish } = this.#waiting ?? {};
    this.#isOver = true;
    this.#stream.destroy();
    const answer = otherId
      ? otherIds('answers with another transaction id: allow other ids (?ids=loose)')
      : failed({ kind: 'timeout' });
    finish?.({ answer, end: 'timeout' });
  }

  #end(fault: ModbusFault): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stream.destroy();
    const waiting = this.#waiting;
    if (waiting === undefined) return this.#onIdleEnd();
    waiting.finish({ answer: failed(fault), end: waiting.hasBytes ? 'cut' : 'unheard' });
  }
}

function otherIds(reason: string): ModbusAnswer {
  return failed({ kind: 'invalid_response', reason, hasOtherIds: true });
}

// The envelope of Modbus on TCP: transaction, protocol 0, length, unit. Source: MODBUS Messaging on TCP/IP
// Implementation Guide V1.0b, section 3.1.3.

export interface TcpFrame {
  transactionId: number;
  unitId: number;
  pdu: Buffer;
}

const HEADER_BYTES = 7;
/** Bytes of the header before the unit, which the length counts. */
const PREFIX_BYTES = 6;
/** A length counts the unit and 1 to 253 bytes of the rest. */
const LENGTH_MIN = 2;
const LENGTH_MAX = 254;

export function encodeTcpFrame({ transactionId, unitId, pdu }: TcpFrame): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.writeUInt16BE(transactionId, 0);
  header.writeUInt16BE(pdu.length + 1, 4);
  header.writeUInt8(unitId, 6);
  return Buffer.concat([header, pdu]);
}

export function createTcpFrameReader() {
  let rest: Buffer = Buffer.alloc(0);
  return {
    get restBytes() {
      return rest.length;
    },
    /**
     * Takes what arrived, in chunks of any size; returns the frames that are complete now. Holds less than one
     * frame. Undefined: this is not Modbus, or its beginning is lost; nothing after it can be understood.
     */
    read: (chunk: Buffer) => {
      rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
      const frames: TcpFrame[] = [];
      while (rest.length >= PREFIX_BYTES) {
        const length = rest.readUInt16BE(4);
        if (rest.readUInt16BE(2) !== 0 || length < LENGTH_MIN || length > LENGTH_MAX) return undefined;
        const end = PREFIX_BYTES + length;
        if (rest.length < end) break;
        // Copied: the frame outlives the chunk it came in.
        const pdu = Buffer.from(rest.subarray(HEADER_BYTES, end));
        frames.push({ transactionId: rest.readUInt16BE(0), unitId: rest.readUInt8(6), pdu });
        rest = rest.subarray(end);
      }
      return frames;
    },
  };
}
