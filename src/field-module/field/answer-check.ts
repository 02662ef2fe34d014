/**
 * Decides which request a frame of Modbus TCP answers. The transaction id says so, but some devices mix ids up as soon as
 * a second request arrives while they work, and a value under another's id looks like any other. So the id is not believed
 * alone: an answer must fit its request, and where it would fit another one as well, come in the order of the requests.
 */
import type { DurationMs, MonotonicMs } from '../../lib/time.ts';
import { answerProblem, isWrite, type ModbusRequest } from './modbus-pdu.ts';
import type { TcpFrame } from './modbus-tcp-frame.ts';

interface Sent {
  readonly unitId: number;
  readonly request: ModbusRequest;
  transactionId?: number;
}

/** What to do with a frame. */
type Judgement<Entry> =
  | { kind: 'answer'; entry: Entry }
  /** Perhaps the late answer to an earlier request. */
  | { kind: 'doubtful' }
  /** Nothing under way can be believed; with a unit, only it has shown that. */
  | { kind: 'mixed_up'; unitId: number | undefined }
  | { kind: 'nobodys' };

/** Older ones have been answered since, or never will be. */
const UNANSWERED_MAX = 1_024;

/** For one connection: a request of another connection cannot be answered on it. */
export class AnswerCheck<Entry extends Sent> {
  readonly #doubtMs: DurationMs;
  /** Requests whose time was over, by transaction id; the oldest first. */
  readonly #unanswered = new Map<number, { entry: Entry; doubtedUntilMs: MonotonicMs }>();
  #isDoubted = false;

  constructor(doubtMs: DurationMs) {
    this.#doubtMs = doubtMs;
  }

  /** One answer may have been late, and so may be any after it: no read can be believed on this connection any more. */
  get isDoubted(): boolean {
    return this.#isDoubted;
  }

  /** Nobody waits for its answer any more, which may still come. */
  noteExpired(transactionId: number, entry: Entry, nowMs: MonotonicMs): void {
    this.#unanswered.set(transactionId, { entry, doubtedUntilMs: nowMs + this.#doubtMs });
    const [oldest] = this.#unanswered.keys();
    if (this.#unanswered.size > UNANSWERED_MAX && oldest !== undefined) this.#unanswered.delete(oldest);
  }

  /** `inFlight`: in the order of sending. */
  judge(frame: TcpFrame, inFlight: readonly Entry[], nowMs: MonotonicMs): Judgement<Entry> {
    const { transactionId, unitId, pdu } = frame;
    const isOf = (entry: Entry): boolean => answerProblem(entry.request, pdu) === undefined;
    const ownIndex = inFlight.findIndex((entry) => entry.transactionId === transactionId);
    const entry = inFlight[ownIndex];
    const isOfOther = inFlight.some((other) => other !== entry && isOf(other));
    if (entry === undefined) {
      const late = this.#unanswered.get(transactionId)?.entry;
      const isLate = late?.unitId === unitId && isOf(late);
      if (isLate) this.#unanswered.delete(transactionId);
      // It bears the id of a request that it cannot answer, or it answers one that still waits.
      const isMixedUp = !isLate && (late !== undefined || isOfOther);
      return isMixedUp ? { kind: 'mixed_up', unitId: undefined } : { kind: 'nobodys' };
    }
    if (unitId !== entry.unitId || !isOf(entry)) {
      const isOfLate = [...this.#unanswered.values()].some((late) => isOf(late.entry));
      return isOfOther || isOfLate ? { kind: 'mixed_up', unitId: undefined } : { kind: 'answer', entry };
    }
    // A unit answers in the order in which it is asked.
    if (inFlight.slice(0, ownIndex).some((older) => older.unitId === unitId && isOf(older)))
      return { kind: 'mixed_up', unitId };
    if (isWrite(entry.request)) return { kind: 'answer', entry };
    this.#isDoubted ||= this.#mayBeLate(frame, nowMs);
    return this.#isDoubted ? { kind: 'doubtful' } : { kind: 'answer', entry };
  }

  #mayBeLate({ unitId, pdu }: TcpFrame, nowMs: MonotonicMs): boolean {
    return [...this.#unanswered.values()].some(
      ({ entry, doubtedUntilMs }) =>
        nowMs < doubtedUntilMs && entry.unitId === unitId && answerProblem(entry.request, pdu) === undefined,
    );
  }
}
