/**
 * What a series of numbers amounts to in each minute: the integral of a rate, or the increase of a counter. What lies
 * above and below zero is added up apart, so that charging and discharging within one minute are both seen.
 */
import type { StoredValue } from '../codec/series.ts';
import type { LiveSource, SampleSource } from './column-cursor.ts';
import type { AmountColumn, AmountsPlan } from './query-plan.ts';

const DAY_S = 86_400;
/** G: minutes of one piece: a few milliseconds for whoever reads it. */
const PIECE_MINUTES = 360;

/** Numbers of one column in one minute of `minuteS`. */
export const CELL = { above: 0, below: 1, coveredS: 2, length: 3, minuteS: 60 } as const;

/** The minutes of [fromS, toS) of one column; adds up what it is given, in any order. */
export class Amounts {
  readonly fromS: number;
  readonly toS: number;
  /** `CELL.length` numbers for each minute: above zero, below zero (as a positive number), seconds that are known. */
  readonly cells: Float64Array;

  constructor(fromS: number, toS: number) {
    this.fromS = fromS;
    this.toS = toS;
    this.cells = new Float64Array(Math.ceil((toS - fromS) / CELL.minuteS) * CELL.length);
  }

  /** The numbers of the minute that begins there. */
  minute(startS: number): Float64Array {
    const cell = ((startS - this.fromS) / CELL.minuteS) * CELL.length;
    return this.cells.subarray(cell, cell + CELL.length);
  }

  /** A rate that changes evenly from `before` at `fromS` to `after` at `toS`. Exact, also where it crosses zero. */
  addSlope(fromS: number, before: number, toS: number, after: number): void {
    const slope = (after - before) / (toS - fromS);
    const at = (timeS: number): number => before + slope * (timeS - fromS);
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

  /** An amount that came evenly in [fromS, toS). */
  addEvenly(fromS: number, toS: number, amount: number): void {
    const perS = amount / (toS - fromS);
    this.#eachMinute(fromS, toS, (cell, startS, endS) => this.#add(cell, perS * (endS - startS)));
  }

  #add(cell: number, amount: number): void {
    const place = cell + (amount < 0 ? CELL.below : CELL.above);
    this.cells[place] = (this.cells[place] as number) + Math.abs(amount);
  }

  #eachMinute(fromS: number, toS: number, take: (cell: number, startS: number, endS: number) => void): void {
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

/** Minutes in order of time; those of which nothing is known are left out. */
export interface AmountMinutes {
  /** Start of each minute, in Unix seconds. */
  startsS: number[];
  /** `CELL.length` numbers for each column of each minute. */
  cells: Float64Array;
}

/** In pieces of a few hours; without one, a pause after each column of a day. */
export function* amountMinutes(plan: AmountsPlan, live: LiveSource): Generator<AmountMinutes | undefined> {
  const source = live.asOfNow(plan.amounts.flatMap(({ seriesId }) => seriesId ?? []));
  const readers = plan.amounts.map((column) => new AmountReader(plan, column, source));
  for (let startS = plan.fromS; startS < plan.toS;) {
    const endS = Math.min(plan.toS, startS - (startS % DAY_S) + DAY_S);
    const columns: Amounts[] = [];
    for (const reader of readers) {
      columns.push(reader.read(startS, endS));
      yield undefined;
    }
    for (let fromS = startS; fromS < endS; fromS += PIECE_MINUTES * CELL.minuteS)
      yield pieceOf(columns, fromS, Math.min(endS, fromS + PIECE_MINUTES * CELL.minuteS));
    startS = endS;
  }
}

function pieceOf(columns: readonly Amounts[], fromS: number, toS: number): AmountMinutes {
  const width = columns.length * CELL.length;
  const cells = new Float64Array(Math.ceil((toS - fromS) / CELL.minuteS) * width);
  const startsS: number[] = [];
  for (let startS = fromS; startS < toS; startS += CELL.minuteS) {
    let isKnown = false;
    for (const [index, column] of columns.entries()) {
      const minute = column.minute(startS);
      isKnown ||= minute.some((value) => value !== 0);
      cells.set(minute, startsS.length * width + index * CELL.length);
    }
    if (isKnown) startsS.push(startS);
  }
  return { startsS, cells: cells.slice(0, startsS.length * width) };
}

interface Reading {
  timeS: number;
  value: number;
}

/** Goes through one series, a stretch after the other. */
class AmountReader {
  readonly #column: AmountColumn;
  readonly #source: SampleSource;
  /** How far two samples may be apart. */
  readonly #reachS: number;
  #before: Reading | undefined;

  constructor(plan: AmountsPlan, column: AmountColumn, source: SampleSource) {
    this.#column = column;
    this.#source = source;
    this.#reachS = column.kind === 'integral' ? plan.gapS : plan.bridgeS;
    const { seriesId } = column;
    const { fromS } = plan;
    const found = seriesId === undefined ? undefined : source.last(seriesId, fromS - this.#reachS, fromS);
    this.#before = found && reading(found.timestampS, found.value);
  }

  read(fromS: number, toS: number): Amounts {
    const amounts = new Amounts(fromS, toS);
    const { seriesId, kind } = this.#column;
    if (seriesId === undefined) return amounts;
    this.#source.visit(seriesId, fromS, toS, 1, {
      samples: (samples, from, to) => {
        for (let index = from; index < to; index++)
          this.#take(amounts, reading(samples.times[index] as number, samples.valueAt(index)));
      },
      summary: (startS, { sum, count, last }, slotS) => {
        if (kind === 'increase') return this.#take(amounts, reading(startS + slotS, last));
        const mean = sum / count;
        this.#take(amounts, { timeS: startS, value: mean });
        // What was above and below zero within a cell is known as their difference only.
        amounts.addEvenly(startS, startS + slotS, mean * slotS);
        this.#before = reading(startS + slotS, last);
      },
    });
    const after = this.#source.first(seriesId, toS, Math.min(toS + this.#reachS, FAR_S));
    const before = this.#before;
    if (after) this.#take(amounts, reading(after.timestampS, after.value));
    // The next stretch comes to it itself.
    this.#before = before;
    return amounts;
  }

  #take(amounts: Amounts, now: Reading): void {
    const before = this.#before;
    this.#before = now;
    if (!before || now.timeS <= before.timeS || now.timeS - before.timeS > this.#reachS) return;
    if (this.#column.kind === 'integral') {
      amounts.addSlope(before.timeS, before.value, now.timeS, now.value);
      return;
    }
    const rise = now.value - before.value;
    // A counter that fell began anew or ran over; one that jumped was set. How much there was in between nobody knows.
    if (rise < 0 || rise > this.#column.risePerSecondMax * (now.timeS - before.timeS)) return;
    amounts.addEvenly(before.timeS, now.timeS, rise);
  }
}

/** Times are kept as 32-bit numbers. */
const FAR_S = 2 ** 32;

const reading = (timeS: number, value: StoredValue): Reading => ({ timeS, value: Number(value) });
