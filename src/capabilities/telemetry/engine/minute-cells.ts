/**
 * Minute cells of parts, which never change: the chart that everybody opens first is that of today, which is in no block
 * yet. From the second time on its parts need not be decoded.
 */
import { type Rollup, rollUp } from '../codec/rollup.ts';
import type { Samples } from '../codec/samples.ts';

/** G: cells of fewer samples are no shorter than these. */
const SAMPLES_PER_CELL = 4;
/** M: what the columns of a part cost beside their cells, in cells of 48 bytes. */
const COLUMN_CELLS = 32;

export class MinuteCells {
  /** Seconds of a cell. */
  readonly slotS = 60;
  readonly #cellsMax: number;
  /** By id of the part; what was asked for last stands last. */
  readonly #rollups = new Map<number, Rollup>();
  #cellCount = 0;

  constructor(cellsMax: number) {
    this.#cellsMax = cellsMax;
  }

  get(partId: number): Rollup | undefined {
    const known = this.#rollups.get(partId);
    if (!known) return undefined;
    this.#rollups.delete(partId);
    this.#rollups.set(partId, known);
    return known;
  }

  /** The cells of the part's samples, and keeps them; undefined when the samples themselves are as good. */
  add(partId: number, samples: Samples): Rollup | undefined {
    if (samples.kind === 'text') return undefined;
    const cells = rollUp(samples, this.slotS);
    if (cells.count * SAMPLES_PER_CELL > samples.count) return undefined;
    this.#rollups.set(partId, cells);
    this.#cellCount += cells.count + COLUMN_CELLS;
    for (const [oldest, { count }] of this.#rollups) {
      if (this.#cellCount <= this.#cellsMax) break;
      this.#rollups.delete(oldest);
      this.#cellCount -= count + COLUMN_CELLS;
    }
    return cells;
  }
}
