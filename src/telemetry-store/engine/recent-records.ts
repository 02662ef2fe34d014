/** The latest journal records, for readers of changes: they give samples in order of arrival. */
import type { EpochS } from '../../lib/time.ts';
import { BatchReader, type BatchSink } from '../codec/batch.ts';

interface RecentRecord {
  sequence: number;
  record: Uint8Array;
  isKey: boolean;
  /** About. */
  samples: number;
  /** Wall clock when it came. */
  atS: EpochS;
}

/** Positions at which a reader is kept, so that it need not begin at a key record again. */
const READERS_KEPT = 8;

export class RecentRecords {
  #records: RecentRecord[] = [];
  #sizeBytes = 0;
  readonly #keptBytes: number;
  readonly #readers = new Map<number, BatchReader>();

  constructor(keptBytes: number) {
    this.#keptBytes = keptBytes;
  }

  add(record: RecentRecord): void {
    this.#records.push(record);
    this.#sizeBytes += record.record.length;
  }

  clear(): void {
    this.#records = [];
    this.#sizeBytes = 0;
    this.#readers.clear();
  }

  /** Records before `fromSequence` are sealed; the newest of them are kept as far as there is room. */
  sealed(fromSequence: number): void {
    let removed = 0;
    let lastRemoved = 0;
    for (const { sequence, record } of this.#records) {
      if (sequence >= fromSequence || this.#sizeBytes <= this.#keptBytes) break;
      this.#sizeBytes -= record.length;
      lastRemoved = sequence;
      removed++;
    }
    this.#records.splice(0, removed);
    // A reader before a removed record cannot go on here.
    for (const sequence of this.#readers.keys()) if (sequence < lastRemoved) this.#readers.delete(sequence);
  }

  /** Samples that came after a record and up to another, and when the first of them came. */
  between(sequence: number, upTo: number): { samples: number; sinceS: EpochS | undefined } {
    let samples = 0;
    let sinceS: EpochS | undefined;
    for (const record of this.#records) {
      if (record.sequence <= sequence || record.sequence > upTo) continue;
      samples += record.samples;
      sinceS ??= record.atS;
    }
    return { samples, sinceS };
  }

  /** True when every record after this one can be read here. */
  reaches(sequence: number, lastSequence: number): boolean {
    return sequence >= lastSequence || this.#readers.has(sequence) || this.#keyFor(sequence) >= 0;
  }

  /** The record before the last key record up to `upTo`; 0 without one. */
  startBefore(upTo: number): number {
    const key = this.#records.findLast(({ isKey, sequence }) => isKey && sequence <= upTo);
    return key ? key.sequence - 1 : 0;
  }

  /**
   * Reads records after `sequence` and up to `upTo` until there are `samplesMax` samples; returns the sequence of the last
   * one, or `upTo` when there are no more. Only where `reaches` is true.
   */
  read(
    sequence: number,
    samplesMax: number,
    into: BatchSink & { readonly count: number },
    upTo = Number.POSITIVE_INFINITY,
  ): number {
    const known = this.#readers.get(sequence);
    const reader = known ?? new BatchReader();
    this.#readers.delete(sequence);
    let last = sequence;
    let isFull = false;
    const from = known
      ? this.#records.findIndex((record) => record.sequence > sequence)
      : this.#keyFor(sequence);
    for (const record of from < 0 ? [] : this.#records.slice(from)) {
      if (into.count >= samplesMax) {
        isFull = true;
        break;
      }
      if (record.sequence > upTo) break;
      if (record.sequence > last + 1 && last > sequence) reader.interrupt();
      this.#readOne(reader, record, record.sequence > sequence ? into : NO_SINK);
      last = Math.max(last, record.sequence);
    }
    this.#readers.set(last, reader);
    for (const oldest of this.#readers.keys()) {
      if (this.#readers.size <= READERS_KEPT) break;
      this.#readers.delete(oldest);
    }
    return isFull || upTo === Number.POSITIVE_INFINITY ? last : upTo;
  }

  /** A damaged record was reported and counted when the store applied it. */
  #readOne(reader: BatchReader, { record }: RecentRecord, sink: BatchSink): void {
    try {
      reader.read(record, sink);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      reader.interrupt();
    }
  }

  /** Index of the key record from which everything after `sequence` is understood; -1: it is not here. */
  #keyFor(sequence: number): number {
    return this.#records.findLastIndex((record) => record.isKey && record.sequence <= sequence + 1);
  }
}

/** For a record that is read only to understand the ones after it. */
export const NO_SINK: BatchSink = {
  define: () => undefined,
  drop: () => undefined,
  supersede: () => undefined,
  number: () => undefined,
  decimal: () => undefined,
  other: () => undefined,
};
