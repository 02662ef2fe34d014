/**
 * Amounts of a series of numbers in each minute: the integral of a rate, or the increase of a counter. Positive and
 * negative amounts are kept apart, so that charging and discharging within one minute are both seen.
 */
import { meanOf } from '../../lib/mean.ts';
import { DAY_S, type DurationS, type EpochS } from '../../lib/time.ts';
import type { Rollup } from '../codec/rollup.ts';
import type { LiveSource, SampleSource } from './column-cursor.ts';
import { Counter, RETURN_S } from './counter.ts';
import type { AmountColumn, AmountsPlan } from './query-plan.ts';

/** G: minutes of one piece: a few milliseconds of work for the reader. */
const PIECE_MINUTES = 360;

/** Numbers of one column in one minute of `minuteS`. */
export const CELL = { above: 0, below: 1, coveredS: 2, implausible: 3, length: 4, minuteS: 60 } as const;

/** The minutes of [fromS, toS) of one column; sums amounts, in any order. */
export class Amounts {
  readonly fromS: EpochS;
  readonly toS: EpochS;
  /**
   * `CELL.length` numbers for each minute: above zero, below zero (as a positive number), known seconds, values left out
   * because nothing can be so large.
   */
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

  /** Counts a value that is left out. */
  addImplausible(timeS: EpochS): void {
    if (timeS < this.fromS || timeS >= this.toS) return;
    const place = Math.floor((timeS - this.fromS) / CELL.minuteS) * CELL.length + CELL.implausible;
    this.cells[place] = (this.cells[place] as number) + 1;
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
    let isKnown = false;
    for (const [index, column] of columns.entries())
      for (let place = 0; place < CELL.length; place++) {
        const number = column.cells[minute * CELL.length + place] as number;
        cells[row + index * CELL.length + place] = number;
        isKnown ||= number > 0;
      }
    if (isKnown) startsS.push((columns[0] as Amounts).fromS + minute * CELL.minuteS);
  }
  return { startsS, cells: cells.slice(0, startsS.length * width) };
}

/** Reads one series, one range after the other. */
class AmountReader {
  readonly #column: AmountColumn;
  readonly #source: SampleSource;
  /** How far apart two samples may be. */
  readonly #reachS: DurationS;
  readonly #counter: Counter | undefined;
  #beforeS: EpochS = Number.NEGATIVE_INFINITY;
  #before = 0;
  /** The range before, which the first samples of this one still add to, and this one. */
  #ranges: Amounts[] = [];

  constructor(plan: AmountsPlan, column: AmountColumn, source: SampleSource) {
    this.#column = column;
    this.#source = source;
    this.#reachS = column.kind === 'integral' ? plan.gapS : plan.bridgeS;
    const { seriesId, kind, rateMax } = column;
    if (kind === 'increase')
      this.#counter = new Counter(
        { reachS: this.#reachS, rateMax },
        (fromS, toS, amount) => this.#add(fromS, (into) => into.addEvenly(fromS, toS, amount)),
        (timeS) => this.#leaveOut(timeS),
      );
    if (seriesId === undefined) return;
    const { fromS } = plan;
    // Whether a counter that is low was reset shows in what it was before.
    const historyS = this.#counter ? fromS - RETURN_S : fromS;
    const found = source.last(seriesId, historyS - this.#reachS, historyS);
    if (found) this.#take(found.timestampS, Number(found.value));
    if (this.#counter) this.#visit(seriesId, historyS, fromS);
  }

  /** End of the range after `fromS` that surely has no amount, `toS` at most. */
  silentTo(fromS: EpochS, toS: EpochS): number {
    const { seriesId } = this.#column;
    if (seriesId === undefined) return toS;
    const beforeS = this.#counter?.lastS ?? this.#beforeS;
    return beforeS + this.#reachS > fromS ? fromS : this.#source.nextData(seriesId, fromS, toS);
  }

  /** Reads a range. It is complete after the next call or `end`. */
  read(fromS: EpochS, toS: EpochS): Amounts {
    const amounts = new Amounts(fromS, toS);
    const { seriesId } = this.#column;
    this.#ranges = [...this.#ranges.slice(-1), amounts];
    if (seriesId === undefined) return amounts;
    this.#visit(seriesId, fromS, toS);
    this.#counter?.settle(fromS);
    this.#counter?.expire(toS);
    return amounts;
  }

  /** Completes the range that was read last. */
  end(atS: EpochS): void {
    const { seriesId } = this.#column;
    if (seriesId === undefined) return;
    if (this.#counter) this.#endCounter(this.#counter, seriesId, atS);
    else if (this.#beforeS + this.#reachS >= atS) this.#takeFirst(seriesId, atS);
  }

  #endCounter(counter: Counter, seriesId: number, atS: EpochS): void {
    // The first reading ends the last rise, the second one says whether it was wrong.
    const firstS = this.#takeFirst(seriesId, atS);
    if (firstS !== undefined) this.#takeFirst(seriesId, firstS + 1);
    this.#readOn(counter, seriesId, atS);
    counter.end();
    // So far it counts as a reset.
    counter.expire(FAR_S);
    counter.end();
  }

  /** Reads on while later readings may change what was counted before a time. */
  #readOn(counter: Counter, seriesId: number, atS: EpochS): void {
    for (;;) {
      const { lastS } = counter;
      const undecidedS = counter.undecidedS(atS);
      if (Number.isFinite(undecidedS) && undecidedS >= lastS) {
        this.#visit(seriesId, lastS + 1, Math.min(undecidedS + 1, FAR_S));
        // Falls within one that was a reset are judged from then on.
        counter.expire(undecidedS + 1);
        // The last reading may be a single wrong one, which only the next one shows.
      } else if (!counter.holdsBefore(atS) || this.#takeFirst(seriesId, lastS + 1) === undefined) return;
    }
  }

  /** Time of the first sample from `fromS` on; undefined: there is none within reach. */
  #takeFirst(seriesId: number, fromS: EpochS): EpochS | undefined {
    const after = this.#source.first(seriesId, fromS, Math.min(fromS + this.#reachS, FAR_S));
    if (after) this.#take(after.timestampS, Number(after.value));
    return after?.timestampS;
  }

  #visit(seriesId: number, fromS: EpochS, toS: EpochS): void {
    this.#source.visit(seriesId, fromS, toS, 1, {
      samples: ({ times, numbers }, from, to) => {
        for (let index = from; index < to; index++)
          this.#take(times[index] as number, numbers[index] as number);
      },
      cells: (cells, from, to, slotS) => {
        for (let cell = from; cell < to; cell++) {
          const startS = cells.starts[cell] as number;
          const last = cells.lasts[cell] as number;
          if (this.#counter) this.#take(startS + slotS, last);
          else if (this.#isRate(cells.minima[cell] as number) && this.#isRate(cells.maxima[cell] as number))
            this.#takeCell(startS, startS + slotS, meanOfCell(cells, cell), last);
          // One value of it is enough to spoil the mean.
          else this.#leaveOut(startS);
        }
      },
    });
  }

  /** For amounts above and below zero within a cell only the difference is known. */
  #takeCell(startS: EpochS, endS: EpochS, mean: number, last: number): void {
    this.#take(startS, mean);
    this.#ranges.at(-1)?.addEvenly(startS, endS, mean * (endS - startS));
    this.#remember(endS, last);
  }

  /** The values before and after it are connected if they are close enough. */
  #leaveOut(timeS: EpochS): void {
    this.#add(timeS, (into) => into.addImplausible(timeS));
  }

  /** False for a rate that nothing has. */
  #isRate(value: number): boolean {
    return Math.abs(value) <= this.#column.rateMax;
  }

  #remember(timeS: EpochS, value: number): void {
    this.#beforeS = timeS;
    this.#before = value;
  }

  #take(timeS: EpochS, value: number): void {
    if (this.#counter) {
      this.#counter.take(timeS, value);
      return;
    }
    const beforeS = this.#beforeS;
    const before = this.#before;
    // A late sample within a cell, which covers its time already.
    if (timeS < beforeS) return;
    if (!this.#isRate(value)) {
      this.#leaveOut(timeS);
      return;
    }
    this.#remember(timeS, value);
    if (timeS === beforeS || timeS - beforeS > this.#reachS) return;
    this.#add(beforeS, (into) => into.addSlope(beforeS, before, timeS, value));
  }

  #add(fromS: EpochS, add: (into: Amounts) => void): void {
    for (const range of this.#ranges) if (fromS < range.toS) add(range);
  }
}

function meanOfCell({ sums, counts, minima, maxima }: Rollup, cell: number): number {
  const at = (column: Float64Array): number => column[cell] as number;
  return meanOf(at(sums), at(counts), at(minima), at(maxima));
}

/** The end of time: times are 32-bit numbers. */
const FAR_S = 2 ** 32;
