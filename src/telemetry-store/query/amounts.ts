/**
 * Amounts of a series of numbers in each minute: the integral of a rate, or the increase of a counter. Positive and
 * negative amounts are kept apart, so that charging and discharging within one minute are both seen.
 */
import { DAY_S, type DurationS, type EpochS } from '../../lib/time.ts';
import type { LiveSource, SampleSource } from './column-cursor.ts';
import type { AmountColumn, AmountsPlan } from './query-plan.ts';

/** G: minutes of one piece: a few milliseconds of work for the reader. */
const PIECE_MINUTES = 360;

/** Numbers of one column in one minute of `minuteS`. */
export const CELL = { above: 0, below: 1, coveredS: 2, length: 3, minuteS: 60 } as const;

/** The minutes of [fromS, toS) of one column; sums amounts, in any order. */
export class Amounts {
  readonly fromS: EpochS;
  readonly toS: EpochS;
  /** `CELL.length` numbers for each minute: above zero, below zero (as a positive number), known seconds. */
  readonly cells: Float64Array;

  constructor(fromS: EpochS, toS: EpochS) {
    this.fromS = fromS;
    this.toS = toS;
    this.cells = new Float64Array(Math.ceil((toS - fromS) / CELL.minuteS) * CELL.length);
  }

  /** Adds a rate that changes linearly from `before` to `after`. Exact, also where it crosses zero. */
  addSlope(fromS: EpochS, before: number, toS: EpochS, after: number): void {
    const inside = this.#cellWith(fromS, toS);
    if (inside !== undefined && before * after >= 0) {
      this.#addCovered(inside, toS - fromS, ((before + after) / 2) * (toS - fromS));
      return;
    }
    const slope = (after - before) / (toS - fromS);
    const at = (timeS: EpochS): number => before + slope * (timeS - fromS);
    this.#eachMinute(fromS, toS, (cell, startS, endS) => {
      const first = at(startS);
      const last = at(endS);
      if (first * last >= 0) {
        this.#add(cell, ((first + last) / 2) * (endS - startS));
        return;
      }
      const crossingS = startS - first / slope;
      this.#add(cell, (first / 2) * (crossingS - startS));
      this.#add(cell, (last / 2) * (endS - crossingS));
    });
  }

  /** Adds an amount that came evenly in [fromS, toS). */
  addEvenly(fromS: EpochS, toS: EpochS, amount: number): void {
    const inside = this.#cellWith(fromS, toS);
    if (inside !== undefined) {
      this.#addCovered(inside, toS - fromS, amount);
      return;
    }
    const perS = amount / (toS - fromS);
    this.#eachMinute(fromS, toS, (cell, startS, endS) => this.#add(cell, perS * (endS - startS)));
  }

  /** The cell of the minute that holds the whole range, as it does for a device that reports every second. */
  #cellWith(fromS: EpochS, toS: EpochS): number | undefined {
    if (fromS < this.fromS || toS > this.toS) return undefined;
    const minute = Math.floor((fromS - this.fromS) / CELL.minuteS);
    return toS <= this.fromS + (minute + 1) * CELL.minuteS ? minute * CELL.length : undefined;
  }

  #addCovered(cell: number, lengthS: DurationS, amount: number): void {
    this.#add(cell, amount);
    this.cells[cell + CELL.coveredS] = (this.cells[cell + CELL.coveredS] as number) + lengthS;
  }

  #add(cell: number, amount: number): void {
    const place = cell + (amount < 0 ? CELL.below : CELL.above);
    this.cells[place] = (this.cells[place] as number) + Math.abs(amount);
  }

  #eachMinute(fromS: EpochS, toS: EpochS, take: (cell: number, startS: EpochS, endS: EpochS) => void): void {
    const lastS = Math.min(toS, this.toS);
    for (let startS = Math.max(fromS, this.fromS); startS < lastS;) {
      const minute = Math.floor((startS - this.fromS) / CELL.minuteS);
      const endS = Math.min(lastS, this.fromS + (minute + 1) * CELL.minuteS);
      const cell = minute * CELL.length;
      take(cell, startS, endS);
      this.cells[cell + CELL.coveredS] = (this.cells[cell + CELL.coveredS] as number) + (endS - startS);
      startS = endS;
    }
  }
}

/** Minutes in order of time, without those of which nothing is known. */
export interface AmountMinutes {
  /** Start of each minute, in Unix seconds. */
  startsS: EpochS[];
  /** `CELL.length` numbers for each column of each minute. */
  cells: Float64Array;
}

/** Pieces of a few hours; undefined is a pause, after each column of a day. Time without samples costs nothing. */
export function* amountMinutes(plan: AmountsPlan, live: LiveSource): Generator<AmountMinutes | undefined> {
  const source = live.asOfNow(plan.amounts.flatMap(({ seriesId }) => seriesId ?? []));
  const readers = plan.amounts.map((column) => new AmountReader(plan, column, source));
  /** The day before: the first values of the next day still add to it. */
  let columns: Amounts[] = [];
  for (let startS = plan.fromS; startS < plan.toS;) {
    const endS = endOfStretch(plan, startS);
    const knownS = Math.min(plan.toS, ...readers.map((reader) => reader.silentTo(startS, plan.toS)));
    if (knownS < endS) {
      const next: Amounts[] = [];
      for (const reader of readers) {
        next.push(reader.read(startS, endS));
        yield undefined;
      }
      yield* piecesOf(columns);
      columns = next;
    }
    startS = Math.min(plan.toS, Math.max(endS, knownS - (knownS % DAY_S)));
    yield undefined;
  }
  for (const reader of readers) {
    reader.end(plan.toS);
    yield undefined;
  }
  yield* piecesOf(columns);
}

/** The end of the day, or of the range if values from beyond it may reach back over the rest. */
function endOfStretch({ toS, gapS, bridgeS }: AmountsPlan, startS: EpochS): number {
  const endS = startS - (startS % DAY_S) + DAY_S;
  return toS - endS < Math.max(gapS, bridgeS) ? toS : endS;
}

function* piecesOf(columns: readonly Amounts[]): Generator<AmountMinutes> {
  const [first] = columns;
  const minutes = (first?.cells.length ?? 0) / CELL.length;
  for (let minute = 0; minute < minutes; minute += PIECE_MINUTES)
    yield pieceOf(columns, minute, Math.min(minutes, minute + PIECE_MINUTES));
}

function pieceOf(columns: readonly Amounts[], from: number, to: number): AmountMinutes {
  const width = columns.length * CELL.length;
  const cells = new Float64Array((to - from) * width);
  const startsS: EpochS[] = [];
  for (let minute = from; minute < to; minute++) {
    const row = startsS.length * width;
    let coveredS: DurationS = 0;
    for (const [index, column] of columns.entries())
      for (let place = 0; place < CELL.length; place++) {
        const number = column.cells[minute * CELL.length + place] as number;
        cells[row + index * CELL.length + place] = number;
        if (place === CELL.coveredS) coveredS += number;
      }
    if (coveredS > 0) startsS.push((columns[0] as Amounts).fromS + minute * CELL.minuteS);
  }
  return { startsS, cells: cells.slice(0, startsS.length * width) };
}

/** Reads one series, one range after the other. */
class AmountReader {
  readonly #column: AmountColumn;
  readonly #source: SampleSource;
  /** How far apart two samples may be. */
  readonly #reachS: DurationS;
  #beforeS: EpochS = Number.NEGATIVE_INFINITY;
  #before = 0;
  #earlier: Amounts | undefined;

  constructor(plan: AmountsPlan, column: AmountColumn, source: SampleSource) {
    this.#column = column;
    this.#source = source;
    this.#reachS = column.kind === 'integral' ? plan.gapS : plan.bridgeS;
    const { seriesId } = column;
    const { fromS } = plan;
    const found = seriesId === undefined ? undefined : source.last(seriesId, fromS - this.#reachS, fromS);
    if (found) this.#take(found.timestampS, Number(found.value), undefined);
  }

  /** End of the range after `fromS` that surely has no amount, `toS` at most. */
  silentTo(fromS: EpochS, toS: EpochS): number {
    const { seriesId } = this.#column;
    if (seriesId === undefined) return toS;
    return this.#beforeS + this.#reachS > fromS ? fromS : this.#source.nextData(seriesId, fromS, toS);
  }

  /** Reads a range. It is complete after the next call or `end`. */
  read(fromS: EpochS, toS: EpochS): Amounts {
    const amounts = new Amounts(fromS, toS);
    const { seriesId, kind } = this.#column;
    if (seriesId === undefined) return amounts;
    this.#source.visit(seriesId, fromS, toS, 1, {
      samples: (samples, from, to) => {
        const { times, numbers } = samples;
        for (let index = from; index < to; index++)
          this.#take(times[index] as number, numbers[index] as number, amounts);
      },
      cells: (cells, from, to, slotS) => {
        for (let cell = from; cell < to; cell++) {
          const startS = cells.starts[cell] as number;
          const last = cells.lasts[cell] as number;
          if (kind === 'increase') {
            this.#take(startS + slotS, last, amounts);
            continue;
          }
          const mean = (cells.sums[cell] as number) / (cells.counts[cell] as number);
          this.#take(startS, mean, amounts);
          if (!this.#isRate(mean)) continue;
          // Of amounts above and below zero within a cell only the difference is known.
          amounts.addEvenly(startS, startS + slotS, mean * slotS);
          this.#remember(startS + slotS, last);
        }
      },
    });
    this.#earlier = amounts;
    return amounts;
  }

  /** Completes the range that was read last. */
  end(atS: EpochS): void {
    const { seriesId } = this.#column;
    if (seriesId === undefined || this.#beforeS + this.#reachS <= atS) return;
    const after = this.#source.first(seriesId, atS, Math.min(atS + this.#reachS, FAR_S));
    if (after) this.#take(after.timestampS, Number(after.value), undefined);
  }

  /** False for a rate that is none: the value is unknown before and after. */
  #isRate(value: number): boolean {
    const { kind, rateMax } = this.#column;
    return kind === 'increase' || Math.abs(value) <= rateMax;
  }

  #remember(timeS: EpochS, value: number): void {
    this.#beforeS = timeS;
    this.#before = value;
  }

  #take(timeS: EpochS, value: number, amounts: Amounts | undefined): void {
    const beforeS = this.#beforeS;
    const before = this.#before;
    // A late sample within a cell, which covers its time already.
    if (timeS < beforeS) return;
    this.#remember(this.#isRate(value) ? timeS : Number.NEGATIVE_INFINITY, value);
    if (timeS === beforeS || timeS - beforeS > this.#reachS || !this.#isRate(value)) return;
    const { kind, rateMax } = this.#column;
    const rise = value - before;
    // A counter that fell was reset or overflowed; one that jumped was set. The amount in between is unknown.
    if (kind === 'increase' && (rise < 0 || rise > rateMax * (timeS - beforeS))) return;
    const earlier = this.#earlier;
    for (const into of earlier && beforeS < earlier.toS ? [earlier, amounts] : [amounts])
      if (kind === 'integral') into?.addSlope(beforeS, before, timeS, value);
      else into?.addEvenly(beforeS, timeS, rise);
  }
}

/** The end of time: times are 32-bit numbers. */
const FAR_S = 2 ** 32;
