/**
 * Amounts by minute on their way between threads: a line for each minute of which something is known, with its start
 * and the three numbers of each column (`CELL`).
 */
import { Amounts, CELL } from './amounts.ts';
import type { LiveSource, SampleSource } from './column-cursor.ts';
import type { StoredValue } from './model.ts';
import type { AmountColumn, AmountsPlan } from './query-plan.ts';

const DAY_S = 86_400;
/** G: minutes of one piece: a few milliseconds for whoever reads it. */
const PIECE_MINUTES = 360;

/** In pieces of a day and a column at most; an empty one is a pause. */
export function* amountLines(plan: AmountsPlan, live: LiveSource): Generator<string> {
  const source = live.asOfNow(plan.amounts.flatMap(({ seriesId }) => seriesId ?? []));
  const readers = plan.amounts.map((column) => new AmountReader(plan, column, source));
  for (let startS = plan.fromS; startS < plan.toS;) {
    const endS = Math.min(plan.toS, startS - (startS % DAY_S) + DAY_S);
    const columns: Amounts[] = [];
    for (const reader of readers) {
      columns.push(reader.read(startS, endS));
      yield '';
    }
    yield* linesOf(columns, startS, endS);
    startS = endS;
  }
}

function* linesOf(columns: readonly Amounts[], fromS: number, toS: number): Generator<string> {
  let text = '';
  for (let startS = fromS, minute = 0; startS < toS; startS += CELL.minuteS, minute++) {
    let line = '';
    let isKnown = false;
    for (const { cells } of columns)
      for (let place = 0; place < CELL.length; place++) {
        const value = cells[minute * CELL.length + place] as number;
        isKnown ||= value !== 0;
        // A thousandth of a watt-second, or what is the same for a counter of kWh, is nothing.
        line += value === 0 ? ',' : `,${Number(value.toPrecision(12))}`;
      }
    if (isKnown) text += `${startS}${line}\n`;
    if ((minute + 1) % PIECE_MINUTES > 0) continue;
    yield text;
    text = '';
  }
  yield text;
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

/** Minutes in order of time. */
export interface AmountMinutes {
  /** Start of each minute, in Unix seconds. */
  startsS: readonly number[];
  /** `CELL.length` numbers for each column of each minute. */
  cells: Float64Array;
}

/** One piece of the answer. */
export function parseAmountLines(text: string, columns: number): AmountMinutes {
  const lines = text === '' ? [] : text.trimEnd().split('\n');
  const width = columns * CELL.length;
  const cells = new Float64Array(lines.length * width);
  const startsS = lines.map((line, row) => {
    const [start = '', ...values] = line.split(',');
    for (let place = 0; place < width; place++) cells[row * width + place] = Number(values[place]);
    return Number(start);
  });
  return { startsS, cells };
}
