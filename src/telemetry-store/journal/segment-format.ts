/**
 * Bytes of a journal segment, all numbers little-endian:
 *
 *   header   'GWJOURN1' · first sequence u64 · CRC-32 of these 16 bytes u32 · zero u32
 *   record   payload length u32 · CRC-32 of sequence and payload u32 · sequence u64 · payload
 *   …
 *
 * A record counts only if its sequence is the expected one, so remains in a recycled segment are never read. It begins
 * where the previous one ends, or at the next page of the file if it touches fewer pages there: a sync writes whole pages.
 */
import { crc32 } from 'node:zlib';

export const SEGMENT = { headerBytes: 24, recordHeaderBytes: 16 };
const MAGIC = Buffer.from('GWJOURN1', 'latin1');

/** The page cache has pages of this size; those of cards are multiples of it. */
const PAGE_BYTES = 4_096;

/** The first page boundary at or after `offset`. */
export function pageFrom(offset: number): number {
  return Math.ceil(offset / PAGE_BYTES) * PAGE_BYTES;
}

/** Where to put `sizeBytes` that may begin at `offset`. */
export function placeFrom(offset: number, sizeBytes: number): number {
  const touched = pageFrom((offset % PAGE_BYTES) + sizeBytes);
  return touched > pageFrom(sizeBytes) ? pageFrom(offset) : offset;
}

export function writeHeader(target: Buffer, firstSequence: number): void {
  MAGIC.copy(target, 0);
  target.writeBigUInt64LE(BigInt(firstSequence), 8);
  target.writeUInt32LE(crc32(target.subarray(0, 16)), 16);
  target.writeUInt32LE(0, 20);
}

/** First sequence of a segment; `undefined` when this is no intact segment. */
export function readHeader(bytes: Buffer): number | undefined {
  if (bytes.length < SEGMENT.headerBytes || MAGIC.compare(bytes, 0, 8) !== 0) return undefined;
  if (bytes.readUInt32LE(16) !== crc32(bytes.subarray(0, 16))) return undefined;
  return Number(bytes.readBigUInt64LE(8));
}

export function writeRecordHeader(
  target: Buffer,
  offset: number,
  sequence: number,
  payload: Uint8Array,
): void {
  target.writeUInt32LE(payload.length, offset);
  target.writeBigUInt64LE(BigInt(sequence), offset + 8);
  target.writeUInt32LE(crc32(payload, crc32(target.subarray(offset + 8, offset + 16))), offset + 4);
}

export interface RecordAt {
  sequence: number;
  payload: Buffer;
  start: number;
  /** Where the next record begins. */
  end: number;
  isIntact: boolean;
}

/** The record at `offset`, damaged ones included; `undefined` where no record can be. */
export function readRecord(bytes: Buffer, offset: number): RecordAt | undefined {
  if (offset + SEGMENT.recordHeaderBytes > bytes.length) return undefined;
  const length = bytes.readUInt32LE(offset);
  const end = offset + SEGMENT.recordHeaderBytes + length;
  if (length === 0 || end > bytes.length) return undefined;
  const payload = bytes.subarray(offset + SEGMENT.recordHeaderBytes, end);
  const checksum = crc32(payload, crc32(bytes.subarray(offset + 8, offset + 16)));
  return {
    sequence: Number(bytes.readBigUInt64LE(offset + 8)),
    payload,
    start: offset,
    end,
    isIntact: bytes.readUInt32LE(offset + 4) === checksum,
  };
}

/** Whether a record of this sequence was begun at `offset`: its number stands there, or its checksum fits that number. */
export function isBegun(bytes: Buffer, offset: number, sequence: number): boolean {
  if (offset + SEGMENT.recordHeaderBytes > bytes.length) return false;
  if (Number(bytes.readBigUInt64LE(offset + 8)) === sequence) return true;
  const record = readRecord(bytes, offset);
  if (!record) return false;
  const number = Buffer.alloc(8);
  number.writeBigUInt64LE(BigInt(sequence));
  return bytes.readUInt32LE(offset + 4) === crc32(record.payload, crc32(number));
}

/**
 * The first intact record at or after `offset` with a sequence of [fromSequence, beforeSequence). Remains in a recycled
 * segment have lower sequences.
 */
export function findRecord(
  bytes: Buffer,
  offset: number,
  fromSequence: number,
  beforeSequence: number,
): RecordAt | undefined {
  const highFrom = Math.floor(fromSequence / 2 ** 32);
  const highTo = Math.floor((beforeSequence - 1) / 2 ** 32);
  // Where only the payload is damaged, the length leads to the next record without a search.
  const damaged = readRecord(bytes, offset);
  const successor = damaged?.isIntact === false ? readRecord(bytes, damaged.end) : undefined;
  if (successor?.isIntact && successor.sequence === fromSequence + 1 && successor.sequence < beforeSequence)
    return successor;
  // The native search skips remains; a loop that runs once, before it is compiled, would take a hundred times as long.
  const highBytes = Buffer.alloc(4);
  highBytes.writeUInt32LE(highFrom);
  const end = Math.min(
    bytes.length - SEGMENT.recordHeaderBytes,
    offset + writtenBytes(bytes.subarray(offset)),
  );
  for (let at = offset; at < end; at++) {
    const high = bytes.readUInt32LE(at + 12);
    if (high < highFrom || high > highTo) {
      if (highFrom !== highTo) continue;
      const next = bytes.indexOf(highBytes, at + 13);
      if (next < 0) return undefined;
      at = next - 13;
      continue;
    }
    const sequence = high * 2 ** 32 + bytes.readUInt32LE(at + 8);
    if (sequence < fromSequence || sequence >= beforeSequence) continue;
    const record = readRecord(bytes, at);
    if (record?.isIntact) return record;
  }
  return undefined;
}

/** True when nothing was ever written. */
export function isUnused(bytes: Buffer): boolean {
  return writtenBytes(bytes) === 0;
}

/** Bytes before the zeros at the end. */
function writtenBytes(bytes: Buffer): number {
  const zeros = Buffer.alloc(bytes.length);
  let from = 0;
  let to = bytes.length;
  // From `to` on there are only zeros; before `from` some byte is none.
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (bytes.subarray(middle, to).equals(zeros.subarray(middle, to))) to = middle;
    else from = middle + 1;
  }
  return to;
}
