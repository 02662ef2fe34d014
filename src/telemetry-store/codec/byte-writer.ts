/** A growing byte buffer with the variable-length numbers of the formats of this folder. */
import { Buffer } from 'node:buffer';

export class ByteWriter {
  bytes: Buffer;
  length = 0;

  constructor(capacity = 4_096) {
    this.bytes = Buffer.allocUnsafe(capacity);
  }

  /** Makes room; call before a run of `put…`, which do not check. */
  reserve(count: number): void {
    if (this.length + count <= this.bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.bytes.length * 2, this.length + count));
    this.bytes.copy(grown, 0, 0, this.length);
    this.bytes = grown;
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.length++] = value;
  }

  /** LEB128 of a whole number from 0 to 2^53. */
  unsigned(value: number): void {
    this.reserve(8);
    let rest = value;
    while (rest >= 128) {
      this.bytes[this.length++] = (rest % 128) | 128;
      rest = rest < 0x80000000 ? rest >>> 7 : Math.floor(rest / 128);
    }
    this.bytes[this.length++] = rest;
  }

  /** Zigzag LEB128 of a whole number from -2^52 to 2^52. */
  signed(value: number): void {
    this.unsigned(value < 0 ? -2 * value - 1 : 2 * value);
  }

  double(value: number): void {
    this.reserve(8);
    this.length = this.bytes.writeDoubleLE(value, this.length);
  }

  /** A number of 32 bits. */
  float(value: number): void {
    this.reserve(4);
    this.length = this.bytes.writeFloatLE(value, this.length);
  }

  int64(value: bigint): void {
    this.reserve(8);
    this.length = this.bytes.writeBigInt64LE(value, this.length);
  }

  uint32(value: number): void {
    this.reserve(4);
    this.length = this.bytes.writeUInt32LE(value, this.length);
  }

  /** Length in bytes, then UTF-8. */
  text(value: string): void {
    this.unsigned(Buffer.byteLength(value));
    this.plain(value);
  }

  /** UTF-8. */
  plain(value: string): void {
    this.reserve(Buffer.byteLength(value));
    this.length += this.bytes.write(value, this.length);
  }

  raw(value: Uint8Array): void {
    this.reserve(value.length);
    this.bytes.set(value, this.length);
    this.length += value.length;
  }

  /** A copy of what was written, in memory of its own: it may be sent to another thread. */
  take(): Buffer {
    const copy = Buffer.allocUnsafeSlow(this.length);
    this.bytes.copy(copy, 0, 0, this.length);
    return copy;
  }
}

/** Reads what `ByteWriter` wrote. @throws RangeError beyond the end */
export class ByteReader {
  readonly bytes: Buffer;
  offset: number;
  readonly end: number;

  constructor(bytes: Uint8Array, offset = 0, end = bytes.length) {
    this.bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.offset = offset;
    this.end = end;
  }

  get done(): boolean {
    return this.offset >= this.end;
  }

  byte(): number {
    if (this.offset >= this.end) throw new RangeError('the data ends too early');
    return this.bytes[this.offset++] as number;
  }

  unsigned(): number {
    let byte = this.byte();
    if (byte < 128) return byte;
    let value = byte & 127;
    let factor = 128;
    do {
      byte = this.byte();
      value += (byte & 127) * factor;
      factor *= 128;
    } while (byte >= 128);
    return value;
  }

  signed(): number {
    const value = this.unsigned();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  double(): number {
    const value = this.bytes.readDoubleLE(this.offset);
    this.offset += 8;
    return value;
  }

  float(): number {
    const value = this.bytes.readFloatLE(this.offset);
    this.offset += 4;
    return value;
  }

  int64(): bigint {
    const value = this.bytes.readBigInt64LE(this.offset);
    this.offset += 8;
    return value;
  }

  text(): string {
    return this.raw(this.unsigned()).toString('utf8');
  }

  /** A view, valid as long as the source. */
  raw(count: number): Buffer {
    if (this.offset + count > this.end) throw new RangeError('the data ends too early');
    const view = this.bytes.subarray(this.offset, this.offset + count);
    this.offset += count;
    return view;
  }
}
