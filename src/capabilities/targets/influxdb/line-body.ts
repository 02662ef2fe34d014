/**
 * Lines of one request, in memory that serves one request after the other: catching up writes ten megabytes a second, and
 * what each request left behind would wait for the collection of garbage.
 */
import type { LabelledRecord, LabelledSamples } from '../model.ts';

/** One line with its end, and how many samples stand in it. */
export interface Line {
  text: string;
  samples: number;
  /** What all of it is of; absent: of several. */
  of?: LabelledSamples | LabelledRecord;
}

const FIRST_BYTES = 16_384;
/** A character of a JavaScript text is at most so many bytes. */
const BYTES_PER_CHARACTER = 3;

export class LineBody {
  #memory = Buffer.alloc(0);
  #lines = 0;
  /** Before each line and behind the last: how many bytes, and how many samples. */
  #bytes: Uint32Array = new Uint32Array(1);
  #samples: Uint32Array = new Uint32Array(1);
  /** Of all lines, or of none. */
  #of: NonNullable<Line['of']>[] = [];

  get lines(): number {
    return this.#lines;
  }

  get bytes(): number {
    return this.#bytes[this.#lines] as number;
  }

  add({ text, samples, of }: Line): void {
    const at = this.bytes;
    const neededBytes = at + text.length * BYTES_PER_CHARACTER;
    if (neededBytes > this.#memory.length) this.#grow(neededBytes, at);
    const line = ++this.#lines;
    if (line === this.#bytes.length) {
      this.#bytes = longer(this.#bytes);
      this.#samples = longer(this.#samples);
    }
    this.#bytes[line] = at + this.#memory.write(text, at);
    this.#samples[line] = (this.#samples[line - 1] as number) + samples;
    if (of) this.#of.push(of);
  }

  /** Samples of the lines from `from` on, before `to`. */
  samplesOf(from: number, to: number): number {
    return (this.#samples[to] as number) - (this.#samples[from] as number);
  }

  /** Of the lines from `from` on, before `to`; undefined: they are of several. */
  ownerOf(from: number, to: number): Line['of'] {
    const owner = this.#of[from];
    // Those of one follow each other.
    return owner === this.#of[to - 1] ? owner : undefined;
  }

  /** Those lines; good until lines are added to the next request. */
  piece(from: number, to: number): Buffer {
    return this.#memory.subarray(this.#bytes[from], this.#bytes[to]);
  }

  /** The next request begins. `isInUse`: somebody may still read this one, so it keeps its memory. */
  clear({ isInUse = false } = {}): void {
    this.#lines = 0;
    this.#of = [];
    if (isInUse) this.#memory = Buffer.alloc(0);
  }

  #grow(neededBytes: number, usedBytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(FIRST_BYTES, neededBytes, 2 * this.#memory.length));
    this.#memory.copy(larger, 0, 0, usedBytes);
    this.#memory = larger;
  }
}

function longer(list: Uint32Array): Uint32Array {
  const twice = new Uint32Array(2 * list.length);
  twice.set(list);
  return twice;
}
