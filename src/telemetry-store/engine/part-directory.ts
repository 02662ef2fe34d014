/**
 * Where the parts are: the samples of one series and day from one sealing. Stored as one directory per sealing, because an
 * index would write more to the flash than the parts do; held in memory as columns, because a large site has millions
 * of parts by the end of a day.
 */
import type { Buffer } from 'node:buffer';
import { DAY_S, type EpochS } from '../../lib/time.ts';
import { ByteReader, ByteWriter } from '../codec/byte-writer.ts';
import { readBytes, writeBytes } from '../codec/number-column.ts';

export interface PartRef {
  id: number;
  seriesId: number;
  /** Days since 1970. */
  day: number;
  firstS: EpochS;
  lastS: EpochS;
}

/** First second of a part that was removed: later than any time. */
const REMOVED = 2 ** 32 - 1;

/** The parts of one sealing, in order of series and time. */
class SealedParts {
  readonly firstId: number;
  /** First and last second of all of them. */
  firstS: EpochS = Number.POSITIVE_INFINITY;
  lastS: EpochS = 0;
  /** Without those that were removed. */
  count: number;
  readonly seriesIds: Uint32Array;
  readonly firstsS: Uint32Array;
  readonly lastsS: Uint32Array;

  constructor(firstId: number, count: number) {
    this.firstId = firstId;
    this.count = count;
    this.seriesIds = new Uint32Array(count);
    this.firstsS = new Uint32Array(count);
    this.lastsS = new Uint32Array(count);
  }

  /** Calls `visit` with the place of each part of the series. */
  ofSeries(seriesId: number, visit: (at: number) => void): void {
    const { seriesIds, firstsS } = this;
    let low = 0;
    let high = seriesIds.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((seriesIds[middle] as number) < seriesId) low = middle + 1;
      else high = middle;
    }
    for (let at = low; seriesIds[at] === seriesId; at++) if (firstsS[at] !== REMOVED) visit(at);
  }

  idAt(at: number): number {
    return this.firstId + at;
  }

  refAt(at: number): PartRef {
    const firstS = this.firstsS[at] as number;
    return {
      id: this.idAt(at),
      seriesId: this.seriesIds[at] as number,
      day: Math.floor(firstS / DAY_S),
      firstS,
      lastS: this.lastsS[at] as number,
    };
  }

  remove(at: number): void {
    this.firstsS[at] = REMOVED;
    this.count--;
  }
}

export class PartDirectory {
  /** The oldest first. */
  #sealings: SealedParts[] = [];
  #endId = 0;

  /** All parts so far have lower ids; later ones have not. */
  get endId(): number {
    return this.#endId;
  }

  /** Adds the directory of the next sealing. @throws RangeError, when `encodeDirectory` did not write it */
  add(directory: Buffer): void {
    const sealing = decodeDirectory(directory);
    this.#sealings.push(sealing);
    this.#endId = Math.max(this.#endId, sealing.firstId + sealing.count);
  }

  /** Parts of a series that begin before `toS` and end at or after `fromS`, in order of sealing. */
  within(seriesId: number, fromS: EpochS, toS: EpochS): PartRef[] {
    const found: PartRef[] = [];
    for (const sealing of this.#sealings)
      if (sealing.firstS < toS && sealing.lastS >= fromS)
        sealing.ofSeries(seriesId, (at) => {
          if ((sealing.firstsS[at] as number) < toS && (sealing.lastsS[at] as number) >= fromS)
            found.push(sealing.refAt(at));
        });
    return found;
  }

  ofDay(seriesId: number, day: number): PartRef[] {
    return this.within(seriesId, day * DAY_S, (day + 1) * DAY_S);
  }

  ofSeries(seriesId: number): PartRef[] {
    return this.within(seriesId, 0, Number.POSITIVE_INFINITY);
  }

  seriesIds(): Set<number> {
    const found = new Set<number>();
    for (const { seriesIds, firstsS } of this.#sealings)
      for (let at = 0; at < seriesIds.length; at++)
        if (firstsS[at] !== REMOVED) found.add(seriesIds[at] as number);
    return found;
  }

  /** The days before `beforeDay` that have parts, with their series. */
  daysBefore(beforeDay: number): Map<number, Set<number>> {
    const days = new Map<number, Set<number>>();
    for (const { firstS, seriesIds, firstsS } of this.#sealings) {
      if (firstS >= beforeDay * DAY_S) continue;
      for (let at = 0; at < seriesIds.length; at++) {
        const day = Math.floor((firstsS[at] as number) / DAY_S);
        if (day >= beforeDay || firstsS[at] === REMOVED) continue;
        const known = days.get(day);
        if (known) known.add(seriesIds[at] as number);
        else days.set(day, new Set([seriesIds[at] as number]));
      }
    }
    return days;
  }

  remove(seriesId: number, ids: ReadonlySet<number>): void {
    for (const sealing of this.#sealings)
      sealing.ofSeries(seriesId, (at) => {
        if (ids.has(sealing.idAt(at))) sealing.remove(at);
      });
    if (this.#sealings.some(({ count }) => count === 0))
      this.#sealings = this.#sealings.filter(({ count }) => count > 0);
  }

  /** No part that still exists has a lower id; infinite when there is none. */
  leastId(): number {
    return this.#sealings[0]?.firstId ?? Number.POSITIVE_INFINITY;
  }
}

/** The directory of one sealing; ids of the parts run on from the first one. */
export function encodeDirectory(refs: readonly PartRef[]): Buffer {
  const entries = new ByteWriter(refs.length * 12 + 16);
  let previous = 0;
  for (const ref of refs) {
    entries.unsigned(ref.seriesId);
    entries.unsigned(ref.day);
    entries.signed(ref.firstS - previous);
    entries.unsigned(ref.lastS - ref.firstS);
    previous = ref.firstS;
  }
  const out = new ByteWriter();
  out.unsigned(refs.length);
  out.unsigned(refs[0]?.id ?? 0);
  writeBytes(out, entries.bytes.subarray(0, entries.length));
  return out.take();
}

function decodeDirectory(bytes: Buffer): SealedParts {
  const head = new ByteReader(bytes);
  const count = head.unsigned();
  const firstId = head.unsigned();
  const entries = readBytes(head);
  if (count > entries.length) throw new RangeError('the directory ends too early');
  const parts = new SealedParts(firstId, count);
  const { seriesIds, firstsS, lastsS } = parts;
  const reader = new ByteReader(entries);
  let previous = 0;
  for (let index = 0; index < count; index++) {
    seriesIds[index] = reader.unsigned();
    // The day follows from the first second.
    reader.unsigned();
    const firstS = previous + reader.signed();
    firstsS[index] = firstS;
    lastsS[index] = firstS + reader.unsigned();
    parts.firstS = Math.min(parts.firstS, firstS);
    parts.lastS = Math.max(parts.lastS, lastsS[index] as number);
    previous = firstS;
  }
  return parts;
}
