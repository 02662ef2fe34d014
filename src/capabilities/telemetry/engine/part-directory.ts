/**
 * Where the parts are: the samples of one series and day out of one sealing. Held in memory, written as one
 * directory per sealing, because an index of them would cost more flash than the parts.
 */
import type { Buffer } from 'node:buffer';
import type { EpochS } from '../../../lib/time.ts';
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

/** Numbers per part in the flat lists: id, day, first, last. */
const STRIDE = 4;

export class PartDirectory {
  /** By series, in order of sealing. */
  readonly #parts = new Map<number, number[]>();
  #count = 0;
  #endId = 0;

  get count(): number {
    return this.#count;
  }

  /** All parts that there are, and were, have lower ids; those to come have not. */
  get endId(): number {
    return this.#endId;
  }

  add(ref: PartRef): void {
    let list = this.#parts.get(ref.seriesId);
    if (!list) this.#parts.set(ref.seriesId, (list = []));
    list.push(ref.id, ref.day, ref.firstS, ref.lastS);
    this.#count++;
    this.#endId = Math.max(this.#endId, ref.id + 1);
  }

  /** Parts of a series that begin before `toS` and end at or after `fromS`, in order of sealing. */
  within(seriesId: number, fromS: EpochS, toS: EpochS): PartRef[] {
    return this.#select(seriesId, (_day, firstS, lastS) => firstS < toS && lastS >= fromS);
  }

  ofDay(seriesId: number, day: number): PartRef[] {
    return this.#select(seriesId, (partDay) => partDay === day);
  }

  ofSeries(seriesId: number): PartRef[] {
    return this.#select(seriesId, () => true);
  }

  seriesIds(): number[] {
    return [...this.#parts.keys()];
  }

  #select(seriesId: number, matches: (day: number, firstS: EpochS, lastS: EpochS) => boolean): PartRef[] {
    const list = this.#parts.get(seriesId);
    const found: PartRef[] = [];
    if (!list) return found;
    for (let at = 0; at < list.length; at += STRIDE) {
      const [id, day, firstS, lastS] = list.slice(at, at + STRIDE) as [number, number, number, number];
      if (matches(day, firstS, lastS)) found.push({ id, seriesId, day, firstS, lastS });
    }
    return found;
  }

  /** Days before `beforeDay` that have parts, with the series in question. */
  daysBefore(beforeDay: number): Map<number, number[]> {
    const days = new Map<number, number[]>();
    for (const [seriesId, list] of this.#parts) {
      let previous = -1;
      for (let at = 1; at < list.length; at += STRIDE) {
        const day = list[at] as number;
        if (day >= beforeDay || day === previous) continue;
        previous = day;
        const series = days.get(day);
        if (!series) days.set(day, [seriesId]);
        else if (!series.includes(seriesId)) series.push(seriesId);
      }
    }
    return days;
  }

  remove(seriesId: number, ids: ReadonlySet<number>): void {
    const list = this.#parts.get(seriesId);
    if (!list) return;
    const kept: number[] = [];
    for (let at = 0; at < list.length; at += STRIDE)
      if (!ids.has(list[at] as number)) kept.push(...list.slice(at, at + STRIDE));
    this.#count -= (list.length - kept.length) / STRIDE;
    if (kept.length === 0) this.#parts.delete(seriesId);
    else this.#parts.set(seriesId, kept);
  }

  /** Least id of a part that still exists; infinite when there is none. */
  leastId(): number {
    let least = Number.POSITIVE_INFINITY;
    for (const list of this.#parts.values())
      for (let at = 0; at < list.length; at += STRIDE) least = Math.min(least, list[at] as number);
    return least;
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

/** @throws RangeError, when it is not what `encodeDirectory` wrote */
export function decodeDirectory(bytes: Buffer): PartRef[] {
  const head = new ByteReader(bytes);
  const count = head.unsigned();
  const firstId = head.unsigned();
  const reader = new ByteReader(readBytes(head));
  const refs: PartRef[] = [];
  let previous = 0;
  for (let index = 0; index < count; index++) {
    const seriesId = reader.unsigned();
    const day = reader.unsigned();
    const firstS = previous + reader.signed();
    refs.push({ id: firstId + index, seriesId, day, firstS, lastS: firstS + reader.unsigned() });
    previous = firstS;
  }
  return refs;
}
