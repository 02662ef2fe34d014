/**
 * Minute cells of what does not change: parts, and the block of the day that a chart begins in. The chart that everybody
 * opens first is that of the last 24 hours; from the second time on little of it need be decoded.
 */
import { type Rollup, rollUp } from '../codec/rollup.ts';
import { Samples } from '../codec/samples.ts';

/** G: cells of fewer samples are no shorter than these. */
const SAMPLES_PER_CELL = 4;
/** M: what the columns of a part cost beside their cells, in cells of 48 bytes. */
const COLUMN_CELLS = 32;
/** G: a chart that stays open begins a little later each time. */
const EDGE_S = 900;

/** A day block by minutes. */
export interface DayMinutes {
  cells: Rollup;
  lastS: number;
  /** Samples of [fromS, toS), for a range that begins within a minute. */
  edge: { fromS: number; toS: number; samples: Samples };
}

interface Kept {
  /** Undefined: of a part, which never changes. */
  seriesId: number | undefined;
  cells: Rollup;
  day?: DayMinutes;
  cost: number;
}

export class MinuteCells {
  /** Seconds of a cell. */
  readonly slotS = 60;
  readonly #cellsMax: number;
  /** By id of the part, or series and day of the block; what was asked for last stands last. */
  readonly #kept = new Map<number | string, Kept>();
  #cost = 0;

  constructor(cellsMax: number) {
    this.#cellsMax = cellsMax;
  }

  get(partId: number): Rollup | undefined {
    return this.#find(partId)?.cells;
  }

  /** The cells of the part's samples, and keeps them; undefined when the samples themselves are as good. */
  add(partId: number, samples: Samples): Rollup | undefined {
    const cells = this.#cellsOf(samples);
    if (cells) this.#keep(partId, { seriesId: undefined, cells, cost: cells.count + COLUMN_CELLS });
    return cells;
  }

  /** For a range that begins at `fromS`; undefined when the block must be read. */
  ofDay(seriesId: number, day: number, fromS: number): DayMinutes | undefined {
    const known = this.#find(`${seriesId} ${day}`)?.day;
    if (!known || fromS % this.slotS === 0) return known;
    const { edge } = known;
    return fromS >= edge.fromS && fromS + this.slotS <= edge.toS ? known : undefined;
  }

  /** Keeps the cells of all samples of a block, which a range that begins at `fromS` has read. */
  addDay(seriesId: number, day: number, samples: Samples, fromS: number): void {
    const cells = this.#cellsOf(samples);
    if (!cells) return;
    const edge = { fromS, toS: fromS + EDGE_S, samples: new Samples(samples.kind) };
    edge.samples.append(samples, edge.fromS, edge.toS);
    const cost = cells.count + COLUMN_CELLS + edge.samples.count / SAMPLES_PER_CELL;
    this.#keep(`${seriesId} ${day}`, { seriesId, cells, day: { cells, lastS: samples.lastS, edge }, cost });
  }

  /** Blocks of the series are others now. */
  changed(seriesId: number): void {
    for (const [key, kept] of this.#kept) if (kept.seriesId === seriesId) this.#remove(key);
  }

  #find(key: number | string): Kept | undefined {
    const known = this.#kept.get(key);
    if (!known) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, known);
    return known;
  }

  #cellsOf(samples: Samples): Rollup | undefined {
    if (samples.kind === 'text') return undefined;
    const cells = rollUp(samples, this.slotS);
    return cells.count * SAMPLES_PER_CELL > samples.count ? undefined : cells;
  }

  #keep(key: number | string, kept: Kept): void {
    this.#remove(key);
    this.#kept.set(key, kept);
    this.#cost += kept.cost;
    for (const oldest of this.#kept.keys()) {
      if (this.#cost <= this.#cellsMax) break;
      this.#remove(oldest);
    }
  }

  #remove(key: number | string): void {
    this.#cost -= this.#kept.get(key)?.cost ?? 0;
    this.#kept.delete(key);
  }
}
