/**
 * Lines of one request, in memory that is used again for the next one: catching up writes ten megabytes a second, which
 * would all become garbage otherwise.
 */
import type { LabelledRecord, LabelledSamples } from '../model.ts';

/** One line with its line break, and the number of its samples. */
export interface Line {
  text: string;
  samples: number;
  /** The series or record that the line belongs to; absent: several. */
  of?: LabelledSamples | LabelledRecord;
}

const FIRST_BYTES = 16_384;
/** Most bytes of UTF-8 per unit of UTF-16. */
const BYTES_PER_CHARACTER = 3;

export class LineBody {
  #memory = Buffer.alloc(0);
  #lines = 0;
  /** Bytes and samples before each line, and in all lines. */
  #bytes: Uint32Array = new Uint32Array(1);
  #samples: Uint32Array = new Uint32Array(1);
  /** Owner of each line; empty when lines have none. */
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

  /** Samples in the lines [from, to). */
  samplesOf(from: number, to: number): number {
    return (this.#samples[to] as number) - (this.#samples[from] as number);
  }

  /** The one owner of the lines [from, to); undefined when they have several. */
  ownerOf(from: number, to: number): Line['of'] {
    const owner = this.#of[from];
    // Lines of one owner follow each other.
    return owner === this.#of[to - 1] ? owner : undefined;
  }

  /** Bytes of the lines [from, to), valid until lines of the next request are added. */
  piece(from: number, to: number): Buffer {
    return this.#memory.subarray(this.#bytes[from], this.#bytes[to]);
  }

  /** Begins the next request. `isInUse`: the bytes of this one may still be read, so new memory is taken. */
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
