/**
 * Which answers of the units of a serial line may be those to earlier reads. They bear no id, and a unit that is busy works
 * off what it was asked: each read whose answer did not come may still be answered, in the order of asking. So an answer
 * counts only when whatever it can be the answer to asked the same.
 */
import type { Buffer } from 'node:buffer';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { answerProblem, encodeRequest, type ModbusRequest } from './modbus-pdu.ts';

interface SentRead {
  request: ModbusRequest;
  sentAtMs: MonotonicMs;
}

interface Unit {
  /** Sent, and perhaps not answered yet; the oldest first. */
  reads: SentRead[];
  /** The longest that one may have taken since nothing was open. */
  slowestMs: DurationMs;
  /** If it is silent until then, nothing more comes. */
  settledAtMs: MonotonicMs;
}

/** A unit keeps one request while it works on another; a converter before it perhaps some more. */
const READS_MAX = 4;
/** An answer comes within so many times the longest. */
const SLOWER_FACTOR = 2;

export class LateAnswers {
  readonly #doubtMs: DurationMs;
  readonly #units = new Map<number, Unit>();

  constructor(limits: Pick<Limits['field'], 'doubtMs'>) {
    this.#doubtMs = limits.doubtMs;
  }

  /** Whether an answer may still come. */
  isExpected(unitId: number): boolean {
    return (this.#units.get(unitId)?.reads.length ?? 0) > 0;
  }

  /** A read goes out, after the line was silent. */
  sent(unitId: number, request: ModbusRequest, nowMs: MonotonicMs): void {
    const unit = this.#unitOf(unitId);
    const isSettled = nowMs >= unit.settledAtMs;
    const open = unit.reads.filter(({ sentAtMs }) => !isSettled && nowMs - sentAtMs < this.#doubtMs);
    if (open.length === 0) unit.slowestMs = 0;
    unit.reads = [...open, { request, sentAtMs: nowMs }].slice(-READS_MAX);
    unit.settledAtMs = Number.POSITIVE_INFINITY;
  }

  /** An answer came. Returns whether it is one to `request` for sure. */
  received(unitId: number, request: ModbusRequest, pdu: Buffer, nowMs: MonotonicMs): boolean {
    const answered = this.passed(unitId, pdu, nowMs);
    return answered.length > 0 && answered.every((one) => isSame(one, request));
  }

  /** An answer came that nobody takes, or that is looked at. Returns all that it may be the answer to. */
  passed(unitId: number, pdu: Buffer, nowMs: MonotonicMs): ModbusRequest[] {
    const unit = this.#unitOf(unitId);
    const answered = unit.reads.filter((read) => answerProblem(read.request, pdu) === undefined);
    const [oldest] = answered;
    if (oldest === undefined) return [];
    // It may be the answer to the oldest: what was asked after that may still be answered.
    unit.reads = unit.reads.slice(unit.reads.indexOf(oldest) + 1);
    unit.slowestMs = Math.max(unit.slowestMs, nowMs - oldest.sentAtMs);
    unit.settledAtMs = nowMs + SLOWER_FACTOR * unit.slowestMs;
    return answered.map(({ request }) => request);
  }

  /** After so much silence the next answer is for sure its own; 0: already. */
  listenMs(unitId: number, nowMs: MonotonicMs): DurationMs {
    return this.isExpected(unitId) ? Math.max(0, this.#unitOf(unitId).settledAtMs - nowMs) : 0;
  }

  #unitOf(unitId: number): Unit {
    return this.#units.getOrInsertComputed(unitId, () => ({
      reads: [],
      slowestMs: 0,
      settledAtMs: Number.POSITIVE_INFINITY,
    }));
  }
}

function isSame(one: ModbusRequest, other: ModbusRequest): boolean {
  return one === other || encodeRequest(one).equals(encodeRequest(other));
}
