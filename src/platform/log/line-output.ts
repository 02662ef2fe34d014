/**
 * Lines to a stream whose reader may hang, such as a stopped service manager or a pipe that nobody reads: a bounded
 * number of bytes waits for it. From the first line that is left out, all are left out until the reader has taken what
 * waits, so that there is one gap and one line that reports it.
 */
import type { Writable } from 'node:stream';

/** What a reader did not get. */
interface LeftOut {
  lines: number;
  bytes: number;
}

export class LineOutput {
  readonly #stream: Writable;
  readonly #waitingBytes: number;
  readonly #onFlowing: (leftOut: LeftOut) => void;
  #leftOut: LeftOut = { lines: 0, bytes: 0 };

  /** @param onFlowing told once for every gap, when the reader has taken what was before it */
  constructor(stream: Writable, limits: { waitingBytes: number }, onFlowing: (leftOut: LeftOut) => void) {
    this.#stream = stream;
    this.#waitingBytes = limits.waitingBytes;
    this.#onFlowing = onFlowing;
    // Unheard, it would end the program: a reader that left, or a full disk, costs lines and nothing else.
    stream.on('error', () => undefined);
  }

  write(line: string): void {
    const bytes = Buffer.from(line);
    if (this.#leftOut.lines > 0 || this.#isOver(bytes.length)) {
      this.#leftOut.lines++;
      this.#leftOut.bytes += bytes.length;
      return;
    }
    // Bytes, because a stream counts what waits in the units that it is given.
    this.#stream.write(bytes, () => this.#written());
  }

  /** A line is never too long when nothing waits: no event would tell when it can be written. */
  #isOver(lineBytes: number): boolean {
    const { writableLength } = this.#stream;
    return writableLength > 0 && writableLength + lineBytes > this.#waitingBytes;
  }

  #written(): void {
    if (this.#leftOut.lines === 0 || this.#stream.writableLength > 0) return;
    const leftOut = this.#leftOut;
    this.#leftOut = { lines: 0, bytes: 0 };
    this.#onFlowing(leftOut);
  }
}
