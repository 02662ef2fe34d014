/**
 * Minute cells of what does not change: parts, open samples once they are packed, and the block of the day that a chart
 * begins in. The chart that everybody
 * opens first is that of the last 24 hours; from the second time on little of it need be decoded.
 */
import type { DurationS, EpochS } from '../../../lib/time.ts';
import { joinRollups, type Rollup, rollUp } from '../codec/rollup.ts';
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
  lastS: EpochS;
  /** Samples of [fromS, toS), for a range that begins within a minute. */
  edge: { fromS: EpochS; toS: EpochS; samples: Samples };
}

interface Kept {
  /** Undefined: of a part, which never changes. */
  seriesId: number | undefined;
  cells: Rollup;
  day?: DayMinutes;
  /** Of open samples: how many chunks the cells are of. */
  chunkCount?: number;
  cost: number;
}

/** Of a part its id, of a block series and day, of open samples their first chunk. */
type Key = number | string | object;

export class MinuteCells {
  /** Seconds of a cell. */
  readonly slotS: DurationS = 60;
  readonly #cellsMax: number;
  /** What was asked for last stands last. */
  readonly #kept = new Map<Key, Kept>();
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

  /**
   * The cells of open chunks, which follow each other in time and of which more come at the end; `decode` reads those
   * from an index on, for the first time only when it `isWorthIt`. Undefined when the samples themselves are as good.
   */
  ofOpen(
    chunks: readonly object[],
    isWorthIt: boolean,
    decode: (from: number) => Samples,
  ): Rollup | undefined {
    const [first] = chunks;
    if (!first) return undefined;
    const known = this.#find(first);
    if (!known && !isWorthIt) return undefined;
    const chunkCount = known?.chunkCount ?? 0;
    if (known && chunkCount === chunks.length) return known.cells;
    // A long answer may know less than is known by now.
    if (chunkCount > chunks.length) return undefined;
    const added = decode(chunkCount);
    const cells = known ? joinRollups(known.cells, rollUp(added, this.slotS)) : this.#cellsOf(added);
    if (!cells) return undefined;
    const cost = cells.count + COLUMN_CELLS;
    this.#keep(first, { seriesId: undefined, cells, chunkCount: chunks.length, cost });
    return cells;
  }

  /** For a range that begins at `fromS`; undefined when the block must be read. */
  ofDay(seriesId: number, day: number, fromS: EpochS): DayMinutes | undefined {
    const known = this.#find(`${seriesId} ${day}`)?.day;
    if (!known || fromS % this.slotS === 0) return known;
    const { edge } = known;
    return fromS >= edge.fromS && fromS + this.slotS <= edge.toS ? known : undefined;
  }

  /**
   * The cells of all samples of a block, which a range that begins at `fromS` has read, and keeps them; undefined when the
   * samples themselves are as good.
   */
  addDay(seriesId: number, day: number, samples: Samples, fromS: EpochS): DayMinutes | undefined {
    const cells = this.#cellsOf(samples);
    if (!cells) return undefined;
    const edge = { fromS, toS: fromS + EDGE_S, samples: new Samples(samples.kind) };
    edge.samples.append(samples, edge.fromS, edge.toS);
    const cost = cells.count + COLUMN_CELLS + edge.samples.count / SAMPLES_PER_CELL;
    const minutes = { cells, lastS: samples.lastS, edge };
    this.#keep(`${seriesId} ${day}`, { seriesId, cells, day: minutes, cost });
    return minutes;
  }

  /** Blocks of the series are others now. */
  changed(seriesId: number): void {
    for (const [key, kept] of this.#kept) if (kept.seriesId === seriesId) this.#remove(key);
  }

  #find(key: Key): Kept | undefined {
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

  #keep(key: Key, kept: Kept): void {
    this.#remove(key);
    this.#kept.set(key, kept);
    this.#cost += kept.cost;
    for (const oldest of this.#kept.keys()) {
      if (this.#cost <= this.#cellsMax) break;
      this.#remove(oldest);
    }
  }

  #remove(key: Key): void {
    this.#cost -= this.#kept.get(key)?.cost ?? 0;
    this.#kept.delete(key);
  }
}
