/** Parts shared by day blocks and roll-ups: version and kind, texts, checksum. Layout in ../FORMAT.md. */
import type { Buffer } from 'node:buffer';
import { crc32 } from 'node:zlib';
import { ByteReader, ByteWriter } from './byte-writer.ts';
import { readBytes, writeBytes, writeNumbers } from './number-column.ts';
import { KINDS, type SeriesKind } from './series.ts';

/** Added to the kind where integers beyond 2^53 follow as such. */
const EXACT = 4;
/** Added where cells follow the samples, and their length. */
const WITH_CELLS = 8;

const LENGTH_BYTES = 4;

/** Bytes that do not hold what was written. */
export class DamagedBlockError extends Error {
  constructor(reason: string, cause?: unknown) {
    super(`a block is damaged: ${reason}`, { cause });
    this.name = 'DamagedBlockError';
  }
}

/** Encloses what `write` adds to `out`; it returns where cells begin, if there are any. The checksum covers the series id. */
export function encodeSealed(
  out: ByteWriter,
  version: number,
  series: { id: number; kind: SeriesKind; isExact: boolean },
  write: () => number | undefined,
): Buffer {
  out.length = 0;
  out.byte(version);
  const form = KINDS.indexOf(series.kind) + (series.isExact ? EXACT : 0);
  out.byte(form);
  const cellsAt = write();
  if (cellsAt !== undefined) {
    out.bytes[1] = form + WITH_CELLS;
    out.uint32(out.length - cellsAt);
  }
  out.uint32(crc32(out.bytes.subarray(0, out.length), series.id));
  return out.take();
}

/** What `decodeSealed` found in front of the content. */
interface Form {
  /** Undefined for an unknown one. */
  kind: SeriesKind | undefined;
  isExact: boolean;
  /** Where cells begin, if there are any. */
  cellsAt: number | undefined;
}

/** True for a part with cells behind its samples. */
export function hasCells(bytes: Buffer): boolean {
  return ((bytes[1] ?? 0) & WITH_CELLS) !== 0;
}

/** Checks what `encodeSealed` wrote; `read` gets the content. @throws DamagedBlockError */
export function decodeSealed<Result>(
  seriesId: number,
  version: number,
  bytes: Buffer,
  read: (reader: ByteReader, form: Form) => Result,
): Result {
  if (bytes.length < 8) throw new DamagedBlockError('it is too short');
  const length = bytes.length - 4;
  if (bytes.readUInt32LE(length) !== crc32(bytes.subarray(0, length), seriesId))
    throw new DamagedBlockError('its checksum does not match');
  try {
    const reader = new ByteReader(bytes, 0, length);
    if (reader.byte() !== version) throw new RangeError('unknown version');
    const form = reader.byte();
    const cellsEnd = length - LENGTH_BYTES;
    const cellsAt = hasCells(bytes) ? cellsEnd - bytes.readUInt32LE(cellsEnd) : undefined;
    return read(reader, { kind: KINDS[form & 3], isExact: (form & EXACT) !== 0, cellsAt });
  } catch (error) {
    throw new DamagedBlockError(String(error), error);
  }
}

/** The texts in order of first use, then an index into them for each of the codes. */
export function writeTexts(out: ByteWriter, codes: Float64Array, texts: readonly string[]): void {
  const places = new Map<number, number>();
  const indexes = new Float64Array(codes.length);
  const dictionary = new ByteWriter(256);
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] as number;
    let place = places.get(code);
    if (place === undefined) {
      place = places.size;
      places.set(code, place);
      dictionary.text(texts[code] as string);
    }
    indexes[index] = place;
  }
  out.unsigned(places.size);
  writeBytes(out, dictionary.bytes.subarray(0, dictionary.length));
  writeNumbers(out, indexes, codes.length);
}

/** The texts that `writeTexts` wrote; the indexes follow as numbers. */
export function readTexts(reader: ByteReader): string[] {
  const texts: string[] = [];
  const size = reader.unsigned();
  const dictionary = new ByteReader(readBytes(reader));
  while (texts.length < size) texts.push(dictionary.text());
  return texts;
}
