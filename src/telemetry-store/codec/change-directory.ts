/** Where one sealing added samples: ranges of time, by series and day. */
import type { Buffer } from 'node:buffer';
import { DAY_S, type EpochS } from '../../lib/time.ts';
import { ByteReader, ByteWriter } from './byte-writer.ts';
import { readBytes, writeBytes } from './number-column.ts';

/** Samples of one series and day that one sealing added. */
export interface ChangedStretch {
  seriesId: number;
  firstS: EpochS;
  lastS: EpochS;
  count: number;
}

/** In order of series and time, as readers expect. */
export function ordered(stretches: readonly ChangedStretch[]): ChangedStretch[] {
  return stretches.toSorted((a, b) => a.seriesId - b.seriesId || a.firstS - b.firstS);
}

export function encodeChanges(stretches: readonly ChangedStretch[]): Buffer {
  const entries = new ByteWriter(stretches.length * 12 + 16);
  let previous = 0;
  for (const { seriesId, firstS, lastS, count } of stretches) {
    entries.unsigned(seriesId);
    entries.signed(firstS - previous);
    entries.unsigned(lastS - firstS);
    entries.unsigned(count);
    previous = firstS;
  }
  const out = new ByteWriter();
  out.unsigned(stretches.length);
  writeBytes(out, entries.bytes.subarray(0, entries.length));
  return out.take();
}

/** @throws RangeError, when it is not what `encodeChanges` wrote */
export function decodeChanges(bytes: Buffer): ChangedStretch[] {
  const head = new ByteReader(bytes);
  const count = head.unsigned();
  const reader = new ByteReader(readBytes(head));
  const stretches: ChangedStretch[] = [];
  let previous = 0;
  for (let index = 0; index < count; index++) {
    const seriesId = reader.unsigned();
    const firstS = previous + reader.signed();
    stretches.push({ seriesId, firstS, lastS: firstS + reader.unsigned(), count: reader.unsigned() });
    previous = firstS;
  }
  return stretches;
}

/** Two sealings as one: for each series and day one range that includes both. */
export function mergedChanges(
  first: readonly ChangedStretch[],
  second: readonly ChangedStretch[],
): ChangedStretch[] {
  const merged = new Map<string, ChangedStretch>();
  for (const stretch of [...first, ...second]) {
    const key = `${stretch.seriesId} ${Math.floor(stretch.firstS / DAY_S)}`;
    const known = merged.get(key);
    if (!known) merged.set(key, { ...stretch });
    else {
      known.firstS = Math.min(known.firstS, stretch.firstS);
      known.lastS = Math.max(known.lastS, stretch.lastS);
      known.count += stretch.count;
    }
  }
  return ordered([...merged.values()]);
}
