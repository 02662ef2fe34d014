/**
 * Cuts a byte stream into control packets (MQTT 3.1.1 chapter 2.2). A packet that lies whole within one
 * chunk is handed out as a view of that chunk; only one that straddles chunks is copied, each byte once
 * (amortised), into a buffer that doubles up to the announced size, so that neither dribbled bytes nor an
 * announced size cost more than what really arrived.
 */
import { type Violation, violation } from './packets.ts';

export interface FrameSink {
  /** Judges a packet by its fixed header, before any of its body is kept. */
  admit(firstByte: number, remainingLengthBytes: number): Violation | undefined;
  /** One whole packet; its body is `buffer` from `start` to `end`. May call `hold` or `stop`. */
  frame(firstByte: number, buffer: Buffer, start: number, end: number): void;
  /** The stream broke the rules; nothing is read any more. */
  refuse(violation: Violation): void;
}

const HEADER_BYTES_MAX = 5;
const PARTIAL_BYTES_MIN = 256;
const NOTHING = Buffer.alloc(0);
/** Section 2.2.3: at most four bytes, the fourth without continuation bit. */
const LENGTH_TOO_LONG = violation('MQTT 2.2.3', 'remaining length is longer than four bytes');

export class FrameReader {
  readonly #sink: FrameSink;
  #held = false;
  #stopped = false;
  #reading = false;
  /** Chunks that arrived, or were left over, while held. */
  #waiting: Buffer[] = [];
  #partial: Buffer = NOTHING;
  #partialBytes = 0;
  /** Size of the partial packet with its header; 0 while the header is incomplete. */
  #wantedBytes = 0;
  #bodyStart = 0;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** True while a packet has begun and is not complete. */
  get isMidFrame(): boolean {
    return this.#partialBytes > 0;
  }

  push(chunk: Buffer): void {
    if (this.#stopped || chunk.length === 0) return;
    if (this.#held || this.#reading) this.#waiting.push(chunk);
    else this.#read(chunk);
  }

  /** Hands out nothing more until `release`; what arrives meanwhile is kept. */
  hold(): void {
    this.#held = true;
  }

  release(): void {
    this.#held = false;
    while (!this.#held && !this.#stopped && !this.#reading) {
      const chunk = this.#waiting.shift();
      if (chunk === undefined) return;
      this.#read(chunk);
    }
  }

  /** Forgets everything; later bytes are ignored. */
  stop(): void {
    this.#stopped = true;
    this.#waiting = [];
    this.#partial = NOTHING;
    this.#partialBytes = 0;
  }

  #read(chunk: Buffer): void {
    this.#reading = true;
    let offset = this.#partialBytes > 0 ? this.#fill(chunk, 0) : 0;
    while (offset < chunk.length && !this.#held && !this.#stopped) offset = this.#next(chunk, offset);
    this.#reading = false;
    if (offset < chunk.length && !this.#stopped) this.#waiting.unshift(chunk.subarray(offset));
  }

  /** Reads one packet in place, or begins a partial one; returns where the next begins. */
  #next(chunk: Buffer, offset: number): number {
    const firstByte = chunk[offset] as number;
    let lengthBytes = 0;
    let position = offset + 1;
    for (let shift = 0; ; shift += 7) {
      if (position >= chunk.length) return this.#fill(chunk, offset);
      const byte = chunk[position++] as number;
      lengthBytes += (byte & 0x7f) << shift;
      if (byte < 0x80) break;
      if (shift === 21) return this.#refuse(LENGTH_TOO_LONG, chunk.length);
    }
    const end = position + lengthBytes;
    if (end > chunk.length) return this.#fill(chunk, offset);
    const problem = this.#sink.admit(firstByte, lengthBytes);
    if (problem) return this.#refuse(problem, chunk.length);
    this.#sink.frame(firstByte, chunk, position, end);
    return end;
  }

  /** Adds to the partial packet; hands it out when complete. Returns the first byte not taken. */
  #fill(chunk: Buffer, from: number): number {
    let offset = from;
    while (this.#wantedBytes === 0) {
      if (offset >= chunk.length) return offset;
      this.#reserve(HEADER_BYTES_MAX);
      this.#partial[this.#partialBytes++] = chunk[offset++] as number;
      const problem = this.#readHeader();
      if (problem) return this.#refuse(problem, chunk.length);
    }
    const takenBytes = Math.min(this.#wantedBytes - this.#partialBytes, chunk.length - offset);
    this.#reserve(this.#partialBytes + takenBytes);
    chunk.copy(this.#partial, this.#partialBytes, offset, offset + takenBytes);
    this.#partialBytes += takenBytes;
    if (this.#partialBytes === this.#wantedBytes) {
      const buffer = this.#partial;
      const end = this.#wantedBytes;
      this.#partial = NOTHING;
      this.#partialBytes = 0;
      this.#wantedBytes = 0;
      this.#sink.frame(buffer[0] as number, buffer, this.#bodyStart, end);
    }
    return offset + takenBytes;
  }

  /** Looks whether the bytes so far are a whole fixed header. */
  #readHeader(): Violation | undefined {
    const count = this.#partialBytes;
    if (count < 2) return undefined;
    if ((this.#partial[count - 1] as number) >= 0x80)
      return count === HEADER_BYTES_MAX ? LENGTH_TOO_LONG : undefined;
    let lengthBytes = 0;
    for (let index = 1; index < count; index++)
      lengthBytes += ((this.#partial[index] as number) & 0x7f) << (7 * (index - 1));
    this.#wantedBytes = count + lengthBytes;
    this.#bodyStart = count;
    return this.#sink.admit(this.#partial[0] as number, lengthBytes);
  }

  #reserve(bytes: number): void {
    if (this.#partial.length >= bytes) return;
    const ceiling = this.#wantedBytes === 0 ? PARTIAL_BYTES_MIN : Math.max(this.#wantedBytes, bytes);
    const grown = Buffer.allocUnsafe(
      Math.min(ceiling, Math.max(bytes, this.#partial.length * 2, PARTIAL_BYTES_MIN)),
    );
    this.#partial.copy(grown, 0, 0, this.#partialBytes);
    this.#partial = grown;
  }

  #refuse(problem: Violation, end: number): number {
    this.stop();
    this.#sink.refuse(problem);
    return end;
  }
}
