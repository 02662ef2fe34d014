/**
 * Looks for units on an address or a serial line when the gateway asks: one unit after the other, one scan per line.
 * Scripts that live there come first: the scan waits for its turn like everybody, and where they are it leaves the line
 * alone after each question for as long as the question took.
 */
import type { Limits } from '../../lib/limits.ts';
import { defined } from '../../lib/members.ts';
import type { DurationMs } from '../../lib/time.ts';
import { type Clock, within } from '../../platform/clock/index.ts';
import type { FromModule, ToModule } from '../../protocol/module.ts';
import type { FieldBus, ModbusAnswer, ModbusRequest, SerialSettings, Visit } from '../field/index.ts';
import { type Ask, readDetails, readOnly } from './details.ts';
import { examineUnit } from './unit.ts';

type Order = ToModule & { type: 'scan' };
type End = Omit<FromModule & { type: 'scan_end' }, 'type' | 'id'>;

interface ScansOptions {
  bus: Pick<FieldBus, 'visit'>;
  clock: Clock;
  limits: Limits['field'];
  send: (message: FromModule) => void;
  onFault: (error: unknown) => void;
}

/** Thrown to end a scan with this outcome. */
class Ended extends Error {
  readonly end: End;
  constructor(end: End) {
    super(end.outcome);
    this.name = 'Ended';
    this.end = end;
  }
}

export class Scans {
  readonly #options: ScansOptions;
  readonly #running = new Map<string, { key: string; stopping: AbortController }>();

  constructor(options: ScansOptions) {
    this.#options = options;
  }

  start(order: Order): void {
    const { id } = order;
    if (this.#running.has(id)) return;
    const stopping = new AbortController();
    const { limits, clock, send, onFault } = this.#options;
    const visit = this.#options.bus.visit(order.uri, settingsOf(order), stopping.signal);
    if (typeof visit === 'string') return send({ type: 'scan_end', id, outcome: 'no_port', reason: visit });
    const { key } = visit;
    // A stopped scan asks nothing after its present question.
    const others = [...this.#running.values()].filter((other) => !other.stopping.signal.aborted);
    if (others.some((other) => other.key === key) || others.length >= limits.scansAtOnce)
      return send({ type: 'scan_end', id, outcome: 'busy' });
    this.#running.set(id, { key, stopping });
    const timeLimit = clock.setTimer(limits.scanMs, () =>
      stopping.abort(new Ended({ outcome: 'time_limit' })),
    );
    this.#scan(order, visit, stopping.signal)
      .then((end) => {
        if (end !== undefined) send({ type: 'scan_end', id, ...end });
      }, onFault)
      .finally(() => {
        timeLimit.cancel();
        this.#running.delete(id);
      });
  }

  /** Stops a scan; it sends no end. */
  stop(id: string): void {
    this.#running.get(id)?.stopping.abort();
  }

  stopAll(): void {
    for (const { stopping } of this.#running.values()) stopping.abort();
  }

  /** Returns undefined when it was stopped. */
  async #scan(order: Order, visit: Visit, signal: AbortSignal): Promise<End | undefined> {
    const { first_unit: first, last_unit: last, id } = order;
    try {
      let closedInRow = 0;
      for (let unitId = first; unitId <= last; unitId += 1) {
        await this.#reach(visit, signal);
        const ask: Ask = (request) => this.#ask(order, visit, unitId, request, signal);
        const { finding, ...details } = order.only_reads
          ? await readOnly(ask, order.reads ?? [], this.#options.limits)
          : await this.#examine(ask, order);
        signal.throwIfAborted();
        this.#options.send({ type: 'scan_unit', id, unit_id: unitId, ...finding, ...details });
        closedInRow = finding.outcome === 'closed' ? closedInRow + 1 : 0;
        if (closedInRow >= this.#options.limits.scanClosings && unitId < last)
          return { outcome: 'unreachable', reason: finding.reason ?? 'closed by the device' };
      }
      return { outcome: 'complete' };
    } catch (error) {
      if (error instanceof Ended) return error.end;
      if (signal.aborted) return signal.reason instanceof Ended ? signal.reason.end : undefined;
      throw error;
    }
  }

  async #examine(ask: Ask, order: Order) {
    const finding = await examineUnit(ask, order.first_unit === order.last_unit);
    const isThere = finding.outcome === 'answers' || finding.outcome === 'exception';
    return { finding, ...(isThere ? await readDetails(ask, order, this.#options.limits) : {}) };
  }

  async #reach(visit: Visit, signal: AbortSignal): Promise<void> {
    this.#refuseOtherSettings(visit);
    const fault = await this.#inTime(visit, visit.reach(), this.#options.limits.connectMs);
    signal.throwIfAborted();
    if (fault === undefined) return;
    throw new Ended({
      outcome: 'unreachable',
      reason: 'reason' in fault ? fault.reason : 'too many addresses or requests at once',
    });
  }

  async #ask(
    { timeout_ms: timeoutMs }: Order,
    visit: Visit,
    unitId: number,
    request: ModbusRequest,
    signal: AbortSignal,
  ): Promise<ModbusAnswer> {
    const { clock } = this.#options;
    signal.throwIfAborted();
    this.#refuseOtherSettings(visit);
    const beginMs = clock.monotonicMs();
    const answer = await this.#inTime(visit, visit.ask(unitId, request, timeoutMs), timeoutMs);
    signal.throwIfAborted();
    if (visit.isUsed) await clock.sleep(clock.monotonicMs() - beginMs, signal);
    return answer;
  }

  /** A script may keep a serial line for itself as long as it wants. */
  async #inTime<T>(visit: Visit, asked: Promise<T>, timeoutMs: DurationMs): Promise<T> {
    const { clock, limits } = this.#options;
    const answer = await within(
      clock,
      timeoutMs + limits.scanWaitMs,
      asked.then((value) => ({ value })),
    );
    if (answer) return answer.value;
    const ended = new Ended({ outcome: 'in_use', reason: 'a script keeps the line to itself' });
    // Its waiting question is not asked any more.
    for (const { key, stopping } of this.#running.values()) if (key === visit.key) stopping.abort(ended);
    throw ended;
  }

  /** Other units would receive noise, and their scripts would wait while the line changes its settings to and fro. */
  #refuseOtherSettings(visit: Visit): void {
    if (visit.isSetOtherwise && visit.isUsed)
      throw new Ended({ outcome: 'in_use', reason: 'a script uses the line with other settings' });
  }
}

function settingsOf(order: Order): Partial<SerialSettings> {
  const { baud_rate: baudRate, data_bits: dataBits, parity, stop_bits: stopBits } = order;
  return defined({ baudRate, dataBits, parity, stopBits });
}
