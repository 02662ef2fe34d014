/** The newest sample of every series as one blob, written with each sealing, so that a start reads no blocks. */
import type { Buffer } from 'node:buffer';
import { ByteReader, ByteWriter } from './byte-writer.ts';
import type { StoredSample, StoredValue } from './series.ts';

const NUMBER = 0;
const FALSE = 1;
const TRUE = 2;
const TEXT = 3;
const INTEGER = 4;

export function encodeLatest(latest: ReadonlyMap<number, StoredSample>): Buffer {
  const out = new ByteWriter(latest.size * 16 + 16);
  for (const [seriesId, { timestampS, value }] of latest) {
    out.unsigned(seriesId);
    out.unsigned(timestampS);
    writeValue(out, value);
  }
  return out.take();
}

function writeValue(out: ByteWriter, value: StoredValue): void {
  if (typeof value === 'number') {
    out.byte(NUMBER);
    out.double(value);
  } else if (typeof value === 'boolean') out.byte(value ? TRUE : FALSE);
  else if (typeof value === 'string') {
    out.byte(TEXT);
    out.text(value);
  } else {
    out.byte(INTEGER);
    out.int64(value);
  }
}

/** @throws RangeError, when it is not what `encodeLatest` wrote */
export function decodeLatest(bytes: Buffer): Map<number, StoredSample> {
  const latest = new Map<number, StoredSample>();
  const reader = new ByteReader(bytes);
  while (!reader.done) {
    const seriesId = reader.unsigned();
    const timestampS = reader.unsigned();
    latest.set(seriesId, { timestampS, value: readValue(reader) });
  }
  return latest;
}

function readValue(reader: ByteReader): StoredValue {
  const form = reader.byte();
  switch (form) {
    case NUMBER:
      return reader.double();
    case FALSE:
    case TRUE:
      return form === TRUE;
    case TEXT:
      return reader.text();
    case INTEGER:
      return reader.int64();
    default:
      throw new RangeError(`unknown form ${form} of a value`);
  }
}
