/**
 * A cache of minute cells of what does not change: parts, packed open samples, and the block of the day in which a chart
 * begins. The chart that everybody opens first is that of the last 24 hours: the second time little of it is decoded.
 */
import type { DurationS, EpochS } from '../../lib/time.ts';
import { joinRollups, type Rollup, rollUp } from '../codec/rollup.ts';
import { Samples } from '../codec/samples.ts';

/** G: cells of fewer samples are no smaller than the samples. */
const SAMPLES_PER_CELL = 4;
/** M: memory of an entry beside its cells, in cells of 48 bytes. */
const COLUMN_CELLS = 32;
/** G: a chart that stays open begins a little later each time. */
const EDGE_S = 900;

/** A day block by minutes. */
export interface DayMinutes {
  cells: Rollup;
  lastS: EpochS;
  /** Samples of [fromS, toS), for ranges that begin within a minute. */
  edge: { fromS: EpochS; toS: EpochS; samples: Samples };
}

interface Kept {
  /** Undefined for cells that never change. */
  seriesId: number | undefined;
  cells: Rollup;
  day?: DayMinutes;
  /** For open samples: the number of chunks that the cells cover. */
  chunkCount?: number;
  cost: number;
}

/** Id of a part; series and day of a block; first chunk of open samples. */
type Key = number | string | object;

export class MinuteCells {
  /** Seconds of a cell. */
  readonly slotS: DurationS = 60;
  readonly #cellsMax: number;
  /** The most recently used last. */
  readonly #kept = new Map<Key, Kept>();
  #cost = 0;

  constructor(cellsMax: number) {
    this.#cellsMax = cellsMax;
  }

  get(partId: number): Rollup | undefined {
    return this.#find(partId)?.cells;
  }

  /** Makes and keeps the cells of a part; undefined when the samples themselves are as small. */
  add(partId: number, samples: Samples): Rollup | undefined {
    const cells = this.#cellsOf(samples);
    if (cells) this.#keep(partId, { seriesId: undefined, cells, cost: cells.count + COLUMN_CELLS });
    return cells;
  }

  /**
   * The cells of open chunks, which are in order of time and to which more are added; `decode` reads those from an index
   * on, the first time only if `isWorthIt`. Undefined when the samples themselves are as small.
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
    // A long query may know fewer chunks than a later one.
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

  /** Makes and keeps the cells of a block that was read from `fromS` on; undefined when the samples are as small. */
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

  /** Blocks of the series were added or removed. */
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
