/**
 * Modbus RTU on one serial port: one request at a time, in the order of the calls. Source: MODBUS over Serial
 * Line V1.02, chapter 2. A unit that stays silent is asked less often, so that it does not take the line's
 * time from those that answer; meanwhile its requests fail at once.
 */
import { Buffer } from 'node:buffer';
import type { Limits } from '../../../lib/limits.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { ModbusClient } from './modbus-client.ts';
import { failed, type ModbusAnswer } from './modbus-fault.ts';
import { decodeAnswer, encodeRequest, isRead, type ModbusRequest, requestProblem } from './modbus-pdu.ts';
import { decodeRtuFrame, encodeRtuFrame, rtuAnswerLength } from './modbus-rtu-frame.ts';
import { SerialFault, type SerialPort, type SerialSettings, type SerialTurn } from './serial-port.ts';

const BROADCAST_UNIT = 0;
const UNIT_MAX = 247;
/** Section 2.5.1.1: above 19 200 baud the gap does not shrink any further. */
const GAP_MIN_MS = 1.75;
/** Bytes of a frame may come in two pieces from an adapter that collects for so long. */
const ADAPTER_LATENCY_MS = 16;
/** More bytes in one answer than a few frames: noise that never ends. */
const NOISE_BYTES = 1_024;

export function createModbusRtu(options: {
  port: SerialPort;
  clock: Clock;
  limits: Limits['field'];
}): ModbusClient {
  const { port, clock, limits } = options;
  const resting = createRestingUnits(limits);
  /** An answer of a read does not say of which: one that comes late must not pass for the next one's. */
  let mayComeLate = false;

  async function exchange(
    unitId: number,
    request: ModbusRequest,
    timeoutMs: number,
    turn: SerialTurn,
  ): Promise<ModbusAnswer> {
    const { settings } = turn;
    const frame = encodeRtuFrame(unitId, encodeRequest(request));
    await settleLine(turn, mayComeLate ? limits.lateAnswerMs : gapMs(settings));
    mayComeLate = false;
    await turn.write(frame);
    const sendingMs = frame.length * characterMs(settings);
    if (unitId === BROADCAST_UNIT) {
      await clock.sleep(sendingMs + limits.broadcastMs);
      return { ok: true, values: [] };
    }
    return receive({ unitId, request, turn, clock, withinMs: sendingMs + timeoutMs });
  }

  return {
    request: async (unitId, request, timeoutMs = limits.requestMs) => {
      const problem = serialProblem(unitId, request);
      if (problem !== undefined) return failed({ kind: 'invalid_argument', reason: problem });
      const limitMs = Math.min(timeoutMs, limits.requestMsMax);
      try {
        return await port.inTurn(async (turn) => {
          if (resting.isResting(unitId, clock.monotonicMs())) return failed({ kind: 'timeout' });
          const answer = await exchange(unitId, request, limitMs, turn);
          mayComeLate = !answer.ok && answer.fault.kind !== 'exception';
          resting.note(unitId, answer, clock.monotonicMs());
          return answer;
        });
      } catch (error) {
        if (!(error instanceof SerialFault)) throw error;
        return failed(
          error.kind === 'overloaded'
            ? { kind: 'overloaded' }
            : { kind: 'connection_failed', reason: error.message },
        );
      }
    },
    close: () => port.close(),
  };
}

function serialProblem(unitId: number, request: ModbusRequest): string | undefined {
  const problem = requestProblem(unitId, request);
  if (problem !== undefined) return problem;
  if (unitId > UNIT_MAX) return `the unit id must be an integer from 0 to ${UNIT_MAX} on a serial line`;
  return unitId === BROADCAST_UNIT && isRead(request) ? 'nobody answers a read from unit 0' : undefined;
}

/** Start bit, data, parity, stop. */
function characterMs(settings: SerialSettings): number {
  const bits = 1 + settings.dataBits + (settings.parity === 'N' ? 0 : 1) + settings.stopBits;
  return (bits * 1_000) / settings.baudRate;
}

function gapMs(settings: SerialSettings): number {
  return Math.max(GAP_MIN_MS, 3.5 * characterMs(settings));
}

/** Waits for the silence that begins a frame; what comes before it belongs to nobody. */
async function settleLine(turn: SerialTurn, silenceMs: number): Promise<void> {
  turn.flush();
  // A line that never falls silent is noise; after so many tries the frame goes out all the same.
  for (let tries = 0; tries < 16; tries += 1) if ((await turn.next(silenceMs)) === undefined) return;
}

/** Collects the answer; what other units say, such as an answer that comes too late, is passed over. */
async function receive(options: {
  unitId: number;
  request: ModbusRequest;
  turn: SerialTurn;
  clock: Clock;
  withinMs: number;
}): Promise<ModbusAnswer> {
  const { unitId, request, turn, clock } = options;
  const endMs = clock.monotonicMs() + options.withinMs;
  let receivedBytes = 0;
  const pieceMs = gapMs(turn.settings) + ADAPTER_LATENCY_MS;
  let begun: Buffer = Buffer.alloc(0);
  for (;;) {
    const remainingMs = endMs - clock.monotonicMs();
    const bytes =
      remainingMs > 0 || begun.length > 0
        ? await turn.next(begun.length === 0 ? remainingMs : pieceMs)
        : undefined;
    receivedBytes += bytes?.length ?? 0;
    if (bytes === undefined || receivedBytes > NOISE_BYTES) {
      if (begun.length === 0) return failed({ kind: 'timeout' });
      return failed({ kind: 'invalid_response', reason: `${begun.length} bytes that are no answer` });
    }
    begun = Buffer.concat([begun, bytes]);
    const frame = completeFrame(begun);
    if (frame === undefined) continue;
    if (frame.unitId === unitId) return decodeAnswer(request, frame.pdu);
    begun = begun.subarray(frame.sizeBytes);
  }
}

function completeFrame(begun: Buffer): { unitId: number; pdu: Buffer; sizeBytes: number } | undefined {
  const sizeBytes = rtuAnswerLength(begun);
  if (sizeBytes === undefined || sizeBytes === 0 || begun.length < sizeBytes) return undefined;
  const frame = decodeRtuFrame(begun.subarray(0, sizeBytes));
  return frame && { ...frame, sizeBytes };
}

interface RestingUnits {
  isResting(unitId: number, nowMs: number): boolean;
  note(unitId: number, answer: ModbusAnswer, nowMs: number): void;
}

function createRestingUnits(limits: Limits['field']): RestingUnits {
  const units = new Map<number, { timeouts: number; untilMs: number }>();
  return {
    isResting: (unitId, nowMs) => nowMs < (units.get(unitId)?.untilMs ?? Number.NEGATIVE_INFINITY),
    note: (unitId, answer, nowMs) => {
      if (answer.ok || answer.fault.kind !== 'timeout') return void units.delete(unitId);
      const timeouts = (units.get(unitId)?.timeouts ?? 0) + 1;
      const untilMs = timeouts >= limits.silentRequests ? nowMs + limits.serialUnitRestMs : nowMs;
      units.set(unitId, { timeouts, untilMs });
    },
  };
}
