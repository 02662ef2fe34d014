/**
 * Lines of one request, in memory that serves one request after the other: catching up writes ten megabytes a second, and
 * what each request left behind would wait for the collection of garbage.
 */
import type { LabelledSamples } from '../model.ts';

/** One line with its end, and how many samples stand in it. */
export interface Line {
  text: string;
  samples: number;
  /** Absent: it has samples of several. */
  series?: LabelledSamples;
}

const FIRST_BYTES = 16_384;
/** A character of a JavaScript text is at most so many bytes. */
const BYTES_PER_CHARACTER = 3;

export class LineBody {
  #memory = Buffer.alloc(0);
  /** Behind each line: its end, and all samples up to there. */
  #ends: { at: number; samples: number; series?: LabelledSamples | undefined }[] = [];

  get lines(): number {
    return this.#ends.length;
  }

  get bytes(): number {
    return this.#endOf(this.lines).at;
  }

  add({ text, samples, series }: Line): void {
    const before = this.#endOf(this.lines);
    const neededBytes = before.at + text.length * BYTES_PER_CHARACTER;
    if (neededBytes > this.#memory.length) this.#grow(neededBytes, before.at);
    const at = before.at + this.#memory.write(text, before.at);
    this.#ends.push({ at, samples: before.samples + samples, series });
  }

  /** Samples of the lines from `from` on, before `to`. */
  samplesOf(from: number, to: number): number {
    return this.#endOf(to).samples - this.#endOf(from).samples;
  }

  /** Of the lines from `from` on, before `to`; undefined: they are of several. */
  seriesOf(from: number, to: number): LabelledSamples | undefined {
    const series = this.#ends[from]?.series;
    // Those of one follow each other.
    return series === this.#ends[to - 1]?.series ? series : undefined;
  }

  /** Those lines; good until lines are added to the next request. */
  piece(from: number, to: number): Buffer {
    return this.#memory.subarray(this.#endOf(from).at, this.#endOf(to).at);
  }

  /** The next request begins. `isInUse`: somebody may still read this one, so it keeps its memory. */
  clear({ isInUse = false } = {}): void {
    this.#ends = [];
    if (isInUse) this.#memory = Buffer.alloc(0);
  }

  #endOf(line: number): { at: number; samples: number } {
    return this.#ends[line - 1] ?? { at: 0, samples: 0 };
  }

  #grow(neededBytes: number, usedBytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, neededBytes, 2 * this.#memory.length));
    this.#memory.copy(larger, 0, 0, usedBytes);
    this.#memory = larger;
  }
}
