/**
 * Modbus RTU on one serial port: one request at a time, in the order of the calls. Source: MODBUS over Serial
 * Line V1.02, chapter 2. Units that stay silent do not take the line's time from those that answer: see
 * `adaptive-timeout.ts`.
 */
import { Buffer } from 'node:buffer';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { AdaptiveTimeout } from './adaptive-timeout.ts';
import { LateAnswers } from './late-answers.ts';
import type { ModbusClient } from './modbus-tcp.ts';
import { failed, type ModbusAnswer } from './modbus-fault.ts';
import {
  answerProblem,
  decodeAnswer,
  encodeRequest,
  isWrite,
  type ModbusRequest,
  requestProblem,
} from './modbus-pdu.ts';
import { decodeRtuFrame, encodeRtuFrame, rtuAnswerLength } from './modbus-rtu-frame.ts';
import { PortFault } from './port-fault.ts';
import { characterMs, type SerialPort, type SerialSettings, type SerialTurn } from './serial-port.ts';

/** Writes to it are for every unit, and nobody answers. */
const BROADCAST_UNIT = 0;
/** Section 2.5.1.1: above 19 200 baud the gap does not shrink any further. */
const GAP_MIN_MS = 1.75;
/**
 * The rest of a frame that has begun may come so much later: a USB adapter hands over what it has every 16 ms, a serial
 * server in packets, and a busy machine reads either a little later still.
 */
const PIECE_MS = 50;
/** More bytes in one answer than a few frames: noise that never ends. */
const NOISE_BYTES = 1_024;

interface ModbusRtuOptions {
  port: SerialPort;
  clock: Clock;
  limits: Limits['field'];
}

export class ModbusRtu implements ModbusClient {
  readonly #options: ModbusRtuOptions;
  readonly #clock: Clock;
  readonly #limits: Limits['field'];
  readonly #timeouts: AdaptiveTimeout;
  /**
   * An answer of a read does not say of which: one that comes late must not pass for the next one's. So before a
   * unit is asked again the line is silent until then; after noise before anybody is.
   */
  readonly #lateUntilMs = new Map<number, number>();
  /** A unit that was busy may answer later still: then an answer may be that to an earlier read. */
  readonly #lateAnswers: LateAnswers;
  /** A unit that answers twice, or for which a repeater does, is not believed at first. */
  readonly #twiceUntilMs = new Map<number, number>();
  #answeredUnitId: number | undefined;
  #noiseUntilMs: MonotonicMs = Number.NEGATIVE_INFINITY;
  readonly #echo: Echo = { isKnown: false };

  constructor(options: ModbusRtuOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#timeouts = new AdaptiveTimeout(this.#limits);
    this.#lateAnswers = new LateAnswers(this.#limits);
  }

  async request(
    unitId: number,
    request: ModbusRequest,
    timeoutMs = this.#limits.requestMs,
    isWanted?: () => boolean,
  ): Promise<ModbusAnswer> {
    const problem = requestProblem(unitId, request);
    if (problem !== undefined) return failed({ kind: 'invalid_argument', reason: problem });
    const limitMs = Math.min(timeoutMs, this.#limits.requestMsMax);
    return answered(
      this.#options.port.inTurn(
        this,
        async (turn) => {
          const nowMs = this.#clock.monotonicMs();
          const waitMs = this.#timeouts.grant(unitId, !isWrite(request), limitMs, nowMs);
          if (waitMs === undefined) return failed({ kind: 'timeout' });
          return this.#askUntilSure(unitId, request, () => this.#ask(unitId, request, waitMs, turn));
        },
        isWanted,
      ),
    );
  }

  /**
   * Asks for a scan, which only reads: whether the unit answers changes nothing for the scripts on the line.
   * Once aborted it waits for no further turn.
   */
  async visit(
    unitId: number,
    request: ModbusRequest,
    { settings, timeoutMs, signal }: { settings: SerialSettings; timeoutMs: DurationMs; signal: AbortSignal },
  ): Promise<ModbusAnswer> {
    const problem = requestProblem(unitId, request);
    if (problem !== undefined) return failed({ kind: 'invalid_argument', reason: problem });
    return answered(
      this.#options.port.visit(this, settings, async (turn) => {
        if (signal.aborted) return failed({ kind: 'timeout' });
        return this.#askUntilSure(unitId, request, async () => {
          const asked = await this.#exchange(unitId, request, timeoutMs, turn);
          this.#noteLate(unitId, asked.answer);
          return asked;
        });
      }),
    );
  }

  /** An answer to a read may be that to an earlier one, an exception as well. */
  async #askUntilSure(
    unitId: number,
    request: ModbusRequest,
    ask: () => Promise<Exchange>,
  ): Promise<ModbusAnswer> {
    let { answer, isSure } = await ask();
    let isDoubted = this.#answersTwice(unitId);
    while (isOfUnit(answer) && !isWrite(request) && (isDoubted || !isSure)) {
      isDoubted = false;
      // The answers to what was asked before come in this pause, most of them.
      this.#lateUntilMs.set(unitId, this.#clock.monotonicMs() + this.#limits.lateAnswerMs);
      ({ answer, isSure } = await ask());
    }
    return answer;
  }

  async #ask(
    unitId: number,
    request: ModbusRequest,
    waitMs: DurationMs,
    turn: SerialTurn,
  ): Promise<Exchange> {
    const beginMs = this.#clock.monotonicMs();
    const asked = await this.#exchange(unitId, request, waitMs, turn);
    this.#note(unitId, request, asked.answer, beginMs);
    return asked;
  }

  #answersTwice(unitId: number): boolean {
    const nowMs = this.#clock.monotonicMs();
    return nowMs < (this.#twiceUntilMs.get(unitId) ?? nowMs);
  }

  async #exchange(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: DurationMs,
    turn: SerialTurn,
  ): Promise<Exchange> {
    const { settings } = turn;
    const frame = encodeRtuFrame(unitId, encodeRequest(request));
    const lateMs =
      Math.max(this.#noiseUntilMs, this.#lateUntilMs.get(unitId) ?? this.#noiseUntilMs) -
      this.#clock.monotonicMs();
    this.#noteSurplus(await settleLine(turn, Math.max(gapMs(settings), lateMs)));
    if (!isWrite(request)) this.#lateAnswers.sent(unitId, request, this.#clock.monotonicMs());
    await turn.write(frame);
    const sendingMs = frame.length * characterMs(settings);
    if (isBroadcast(unitId, request)) {
      await this.#clock.sleep(sendingMs + this.#limits.broadcastMs);
      return { answer: { ok: true, values: [] }, isSure: true };
    }
    const { answer, pdu } = await receive({
      request,
      turn,
      sent: frame,
      echo: this.#echo,
      clock: this.#clock,
      withinMs: sendingMs + timeoutMs,
      isLate: (late) =>
        answerProblem(request, late) !== undefined &&
        this.#lateAnswers.passed(unitId, late, this.#clock.monotonicMs()).length > 0,
    });
    this.#answeredUnitId = pdu && unitId;
    const isSure =
      pdu !== undefined && this.#lateAnswers.received(unitId, request, pdu, this.#clock.monotonicMs());
    return { answer, isSure };
  }

  /** Judges bytes that came between an answer and the next request. */
  #noteSurplus(surplus: Buffer): void {
    const nowMs = this.#clock.monotonicMs();
    for (const { unitId, pdu } of framesIn(surplus)) {
      if (this.#lateAnswers.isExpected(unitId)) this.#lateAnswers.passed(unitId, pdu, nowMs);
      else if (unitId === this.#answeredUnitId) this.#twiceUntilMs.set(unitId, nowMs + this.#limits.doubtMs);
    }
  }

  #note(unitId: number, request: ModbusRequest, answer: ModbusAnswer, beginMs: MonotonicMs): void {
    const nowMs = this.#clock.monotonicMs();
    this.#noteLate(unitId, answer);
    if (!answer.ok && answer.fault.kind === 'timeout')
      return this.#timeouts.silent(unitId, nowMs - beginMs, nowMs);
    if (!isBroadcast(unitId, request)) this.#timeouts.answered(unitId, nowMs - beginMs, nowMs);
  }

  /** Notes until when a late answer to this request may still come. */
  #noteLate(unitId: number, answer: ModbusAnswer): void {
    const nowMs = this.#clock.monotonicMs();
    const untilMs = nowMs + this.#limits.lateAnswerMs;
    const kind = answer.ok ? undefined : answer.fault.kind;
    const listenMs = this.#lateAnswers.listenMs(unitId, nowMs);
    this.#lateUntilMs.delete(unitId);
    if (kind === 'timeout') this.#lateUntilMs.set(unitId, untilMs);
    // Others wait meanwhile: where it takes longer, the unit is asked twice instead.
    else if (listenMs <= this.#limits.listenMsMax) this.#lateUntilMs.set(unitId, nowMs + listenMs);
    if (kind === 'invalid_response') this.#noiseUntilMs = untilMs;
  }
}

function isOfUnit(answer: ModbusAnswer): boolean {
  return answer.ok || answer.fault.kind === 'exception';
}

interface Frame {
  unitId: number;
  pdu: Buffer;
  sizeBytes: number;
}

interface Exchange {
  answer: ModbusAnswer;
  /** It is no late answer to an earlier read. */
  isSure: boolean;
}

/** A port that cannot be used is an ordinary answer. */
async function answered(turn: Promise<ModbusAnswer>): Promise<ModbusAnswer> {
  try {
    return await turn;
  } catch (error) {
    if (!(error instanceof PortFault)) throw error;
    const { kind, message } = error;
    return failed(
      kind === 'overloaded' || kind === 'timeout' ? { kind } : { kind: 'connection_failed', reason: message },
    );
  }
}

/** Some devices of one line answer a read at address 0. */
function isBroadcast(unitId: number, request: ModbusRequest): boolean {
  return unitId === BROADCAST_UNIT && isWrite(request);
}

function gapMs(settings: SerialSettings): DurationMs {
  return Math.max(GAP_MIN_MS, 3.5 * characterMs(settings));
}

/** Waits for the silence that begins a frame; resolves with what came before it, which belongs to nobody. */
async function settleLine(turn: SerialTurn, silenceMs: DurationMs): Promise<Buffer> {
  let surplus = turn.flush();
  // A line that never falls silent is noise; after so many tries the frame goes out all the same.
  for (let tries = 0; tries < 16; tries += 1) {
    const bytes = await turn.next(silenceMs);
    if (bytes === undefined) break;
    surplus = Buffer.concat([surplus, bytes]);
  }
  return surplus;
}

/** Whether the adapter hears what it sends: with an echo a write to a unit that is off looks like a confirmed one. */
interface Echo {
  isKnown: boolean;
}

/** Collects the answer; what other units say, and what comes too late for an earlier read, is passed over. */
async function receive(options: {
  request: ModbusRequest;
  turn: SerialTurn;
  sent: Buffer;
  echo: Echo;
  clock: Clock;
  withinMs: DurationMs;
  /** It answers an earlier read, and not this request. */
  isLate: (pdu: Buffer) => boolean;
}): Promise<{ answer: ModbusAnswer; pdu?: Buffer }> {
  const { request, turn, sent, echo, clock, isLate } = options;
  const endMs = clock.monotonicMs() + options.withinMs;
  let receivedBytes = 0;
  let isEchoAwaited = echo.isKnown;
  const pieceMs = gapMs(turn.settings) + PIECE_MS;
  let begun: Buffer = Buffer.alloc(0);
  for (;;) {
    const remainingMs = endMs - clock.monotonicMs();
    const bytes =
      remainingMs > 0 || begun.length > 0
        ? await turn.next(begun.length === 0 ? remainingMs : pieceMs)
        : undefined;
    receivedBytes += bytes?.length ?? 0;
    if (bytes === undefined || receivedBytes > NOISE_BYTES) return lastResort(request, begun, sent, echo);
    begun = Buffer.concat([begun, bytes]);
    if (isEchoAwaited) {
      if (begun.length < sent.length && startsWith(sent, begun)) continue;
      isEchoAwaited = false;
      // Another adapter, perhaps.
      echo.isKnown = startsWith(begun, sent);
      if (echo.isKnown) begun = begun.subarray(sent.length);
    }
    // Adapters hand over several at once.
    for (let frame = completeFrame(begun); frame !== undefined; frame = completeFrame(begun)) {
      if (frame.unitId === sent[0] && !isLate(frame.pdu))
        return { answer: decodeAnswer(request, frame.pdu), pdu: frame.pdu };
      begun = begun.subarray(frame.sizeBytes);
    }
  }
}

/** The line is silent, and no frame began what came: a transceiver that is switched over adds a byte, an adapter its echo. */
function lastResort(
  request: ModbusRequest,
  begun: Buffer,
  sent: Buffer,
  echo: Echo,
): { answer: ModbusAnswer; pdu?: Buffer } {
  const hasEcho = startsWith(begun, sent);
  if (hasEcho) echo.isKnown = true;
  const rest = hasEcho ? begun.subarray(sent.length) : begun;
  if (rest.length === 0) return { answer: failed({ kind: 'timeout' }) };
  const [unitId, functionCode = 0] = sent;
  const frame = buriedFrame(rest, (own) => own[0] === unitId && ((own[1] ?? 0) & 0x7f) === functionCode);
  if (frame) return { answer: decodeAnswer(request, frame.pdu), pdu: frame.pdu };
  return { answer: failed({ kind: 'invalid_response', reason: problemOf(rest) }) };
}

function startsWith(bytes: Buffer, beginning: Buffer): boolean {
  return bytes.length >= beginning.length && bytes.subarray(0, beginning.length).equals(beginning);
}

/** The first whole frame of that kind, wherever it begins. */
function buriedFrame(bytes: Buffer, isWanted: (frame: Buffer) => boolean): Frame | undefined {
  for (let start = 0; start < bytes.length; start += 1) {
    const rest = bytes.subarray(start);
    const frame = isWanted(rest) ? completeFrame(rest) : undefined;
    if (frame) return frame;
  }
  return undefined;
}

/** Every whole frame, wherever it begins. */
function framesIn(bytes: Buffer): Frame[] {
  const frames: Frame[] = [];
  for (let start = 0; start < bytes.length; start += 1) {
    const frame = completeFrame(bytes.subarray(start));
    if (frame === undefined) continue;
    frames.push(frame);
    start += frame.sizeBytes - 1;
  }
  return frames;
}

/** Why what arrived is no answer. */
function problemOf(begun: Buffer): string {
  const sizeBytes = rtuAnswerLength(begun);
  const isWhole = sizeBytes !== undefined && sizeBytes > 0 && begun.length >= sizeBytes;
  return isWhole ? 'wrong checksum' : `${begun.length} bytes that are no answer`;
}

function completeFrame(begun: Buffer): Frame | undefined {
  const sizeBytes = rtuAnswerLength(begun);
  if (sizeBytes === undefined || sizeBytes === 0 || begun.length < sizeBytes) return undefined;
  const frame = decodeRtuFrame(begun.subarray(0, sizeBytes));
  return frame && { ...frame, sizeBytes };
}
