/**
 * Modbus RTU on one serial port or over TCP: one request at a time. Source: MODBUS over Serial Line V1.02, chapter 2.
 * Units that stay silent do not take the line's time from those that answer: see `silent-units.ts`.
 */
import { Buffer } from 'node:buffer';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Asking, ModbusClient } from './modbus-tcp.ts';
import type { OnBytes } from './modbus-tcp-connection.ts';
import { failed, type ModbusAnswer, type ModbusFault, PortFault } from './modbus-fault.ts';
import { decodeAnswer, encodeRequest, isWrite, type ModbusRequest, requestProblem } from './modbus-pdu.ts';
import { decodeRtuFrame, encodeRtuFrame, rtuAnswerLength } from './modbus-rtu-frame.ts';
import { characterMs, type SerialPort, type SerialSettings, type SerialTurn } from './serial-port.ts';
import { SilentUnits } from './silent-units.ts';

/** Writes to it are for every unit, and no unit answers. */
const BROADCAST_UNIT = 0;
/** Section 2.5.1.1: above 19 200 baud the gap does not shrink any further. */
const GAP_MIN_MS = 1.75;
/** What has arrived and was not read yet is seen within this time. */
const LOOK_MS = 1;
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
  readonly #units: SilentUnits;
  /**
   * An answer does not say to which request it belongs. Hence a unit that did not answer in time is not asked again
   * until its answer came late, or cannot come any more.
   */
  readonly #lateUntilMs = new Map<number, MonotonicMs>();
  /** Units that answer twice, or for which a repeater does: silence before each request takes the second answer away. */
  readonly #twiceUntilMs = new Map<number, MonotonicMs>();
  #answeredUnitId: number | undefined;
  #noiseUntilMs: MonotonicMs = Number.NEGATIVE_INFINITY;
  readonly #echo: Echo = { isKnown: false };

  constructor(options: ModbusRtuOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#limits = options.limits;
    this.#units = new SilentUnits(this.#limits);
  }

  async request(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: DurationMs = this.#limits.requestMs,
    { owner, isWanted, onBytes }: Asking = {},
  ): Promise<ModbusAnswer> {
    const problem = requestProblem(unitId, request);
    if (problem !== undefined) return failed({ kind: 'invalid_argument', reason: problem });
    const limitMs = Math.min(timeoutMs, this.#limits.requestMsMax);
    const queuedAtMs = this.#clock.monotonicMs();
    const use = async (own: SerialTurn): Promise<ModbusAnswer> => {
      const turn = onBytes ? observed(own, onBytes) : own;
      this.#noteStrays(turn.flush());
      const beginMs = this.#clock.monotonicMs();
      const refusal = this.#refusal(unitId, request, queuedAtMs);
      if (refusal) return failed(refusal);
      const waitMs = isWrite(request) ? limitMs : this.#units.readMs(unitId, limitMs, beginMs);
      const { answer, sentAtMs } = await this.#exchange(unitId, request, waitMs, turn);
      const nowMs = this.#clock.monotonicMs();
      if (!isBroadcast(unitId, request)) this.#units.note(unitId, answer, nowMs - sentAtMs, nowMs);
      return answer;
    };
    return answered(this.#options.port.inTurn(this, use, { isWanted, owner: owner ?? this, unitId }));
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
        return (await this.#exchange(unitId, request, timeoutMs, turn)).answer;
      }),
    );
  }

  #refusal(unitId: number, request: ModbusRequest, queuedAtMs: MonotonicMs): ModbusFault | undefined {
    const nowMs = this.#clock.monotonicMs();
    const refusal = this.#units.refusal(unitId, queuedAtMs, nowMs);
    if (refusal) return refusal;
    const lateMs = (this.#lateUntilMs.get(unitId) ?? nowMs) - nowMs;
    // The line is kept free for others instead of waiting for long; the outcome of a write must be known.
    return lateMs > this.#limits.listenMsMax && !isWrite(request) ? { kind: 'timeout' } : undefined;
  }

  async #exchange(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: DurationMs,
    turn: SerialTurn,
  ): Promise<{ answer: ModbusAnswer; sentAtMs: MonotonicMs }> {
    const { settings } = turn;
    const frame = encodeRtuFrame(unitId, encodeRequest(request));
    await this.#awaitLate(unitId, turn);
    await this.#awaitSilence(unitId, turn);
    const sentAtMs = this.#clock.monotonicMs();
    await turn.write(frame);
    const sendingMs = frame.length * characterMs(settings);
    if (isBroadcast(unitId, request)) {
      await this.#clock.sleep(sendingMs + this.#limits.broadcastMs);
      return { answer: { ok: true, values: [] }, sentAtMs };
    }
    const answer = await answered(
      receive({
        request,
        turn,
        sent: frame,
        echo: this.#echo,
        clock: this.#clock,
        withinMs: sendingMs + timeoutMs,
        onStray: (stray) => this.#lateUntilMs.delete(stray),
      }),
    );
    const nowMs = this.#clock.monotonicMs();
    const kind = answer.ok ? undefined : answer.fault.kind;
    this.#answeredUnitId = kind === undefined || kind === 'exception' ? unitId : undefined;
    // The next connection to a serial server may bring the answer that the lost one did not.
    if (kind === 'timeout' || (kind === 'connection_failed' && this.#options.port.isRemote))
      this.#lateUntilMs.set(unitId, nowMs + this.#units.lateMs(unitId));
    if (kind === 'invalid_response') this.#noiseUntilMs = nowMs + this.#limits.lateAnswerMs;
    return { answer, sentAtMs };
  }

  /** Waits for the late answer of the unit, as long as it may come. */
  async #awaitLate(unitId: number, turn: SerialTurn): Promise<void> {
    for (;;) {
      const lateMs = (this.#lateUntilMs.get(unitId) ?? 0) - this.#clock.monotonicMs();
      const bytes = lateMs > 0 ? await turn.next(lateMs) : undefined;
      if (bytes === undefined) break;
      this.#noteStrays(bytes);
    }
    this.#lateUntilMs.delete(unitId);
  }

  /** Waits for the silence that begins a frame; bytes before it belong to no request. */
  async #awaitSilence(unitId: number, turn: SerialTurn): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    const isTwice = nowMs < (this.#twiceUntilMs.get(unitId) ?? nowMs);
    const quietMs = isTwice ? this.#limits.lateAnswerMs : this.#noiseUntilMs - nowMs;
    this.#noteStrays(await settleLine(turn, quietMs));
  }

  /** Notes whose answers came too late or twice. */
  #noteStrays(bytes: Buffer): void {
    const nowMs = this.#clock.monotonicMs();
    for (const { unitId } of framesIn(bytes)) {
      if (this.#lateUntilMs.delete(unitId) || unitId !== this.#answeredUnitId) continue;
      this.#twiceUntilMs.set(unitId, nowMs + this.#limits.twiceMs);
    }
  }
}

/** The turn, whose bytes are also passed to an observer. */
function observed(turn: SerialTurn, onBytes: OnBytes): SerialTurn {
  const received = <Bytes extends Buffer | undefined>(bytes: Bytes): Bytes => {
    if (bytes !== undefined && bytes.length > 0) onBytes('received', bytes);
    return bytes;
  };
  return {
    ...turn,
    write: (bytes) => {
      onBytes('sent', bytes);
      return turn.write(bytes);
    },
    next: async (timeoutMs, signal) => received(await turn.next(timeoutMs, signal)),
    flush: () => received(turn.flush()),
  };
}

interface Frame {
  unitId: number;
  pdu: Buffer;
  sizeBytes: number;
}

/** A port that cannot be used is an ordinary answer. */
async function answered(asked: Promise<ModbusAnswer>): Promise<ModbusAnswer> {
  try {
    return await asked;
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
  return unitId === BROADCAST_UNIT && isWrite(request) && !('count' in request);
}

function gapMs(settings: SerialSettings): DurationMs {
  return Math.max(GAP_MIN_MS, 3.5 * characterMs(settings));
}

/** Waits for the silence that begins a frame; resolves with the bytes before it, which belong to no request. */
async function settleLine(turn: SerialTurn, leastMs: DurationMs): Promise<Buffer> {
  let surplus = turn.flush();
  // A line that never falls silent is noise; after so many tries the frame is sent all the same.
  for (let tries = 0; tries < 16; tries += 1) {
    const bytes = await turn.next(Math.max(LOOK_MS, gapMs(turn.settings) - turn.quietMs(), leastMs));
    if (bytes === undefined) break;
    surplus = Buffer.concat([surplus, bytes]);
  }
  return surplus;
}

/** Whether the adapter receives what it sends: with an echo a write to a unit that is off looks like a confirmed one. */
interface Echo {
  isKnown: boolean;
}

/** Collects the answer; what other units say, and answers to another function, are passed over. */
async function receive(options: {
  request: ModbusRequest;
  turn: SerialTurn;
  sent: Buffer;
  echo: Echo;
  clock: Clock;
  withinMs: DurationMs;
  /** A frame of that unit came, which is no answer to the request. */
  onStray: (unitId: number) => void;
}): Promise<ModbusAnswer> {
  const { request, turn, sent, echo, clock, onStray } = options;
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
      if (isAnswerTo(sent, begun)) return decodeAnswer(request, frame.pdu);
      onStray(frame.unitId);
      begun = begun.subarray(frame.sizeBytes);
    }
  }
}

/** Whether the answer has the same unit and function. */
function isAnswerTo([unitId, functionCode]: Buffer, frame: Buffer): boolean {
  return frame[0] === unitId && ((frame[1] ?? 0) & 0x7f) === functionCode;
}

/** The line is silent, and no frame began what came: a transceiver that is switched over adds a byte, an adapter its echo. */
function lastResort(request: ModbusRequest, begun: Buffer, sent: Buffer, echo: Echo): ModbusAnswer {
  const hasEcho = startsWith(begun, sent);
  if (hasEcho) echo.isKnown = true;
  const rest = hasEcho ? begun.subarray(sent.length) : begun;
  if (rest.length === 0) return failed({ kind: 'timeout' });
  const frame = buriedFrame(rest, (own) => isAnswerTo(sent, own));
  if (frame) return decodeAnswer(request, frame.pdu);
  return failed({ kind: 'invalid_response', reason: problemOf(rest) });
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
