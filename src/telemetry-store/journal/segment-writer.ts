/** The files of a journal for its writer: the current one, free ones, and damaged ones, which are left alone. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unavailable } from '../../lib/errors.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import type { Log } from '../../platform/log/index.ts';
import { type JournalFile, type JournalFiles, nodeFiles } from './files.ts';
import { COMPANION, sealCompanion } from './companion.ts';
import { bytesCutOff, DAMAGED_SUFFIX, endOf, listSegments, NEWEST, newestSegment } from './read-journal.ts';
import { placeFrom, SEGMENT, writeHeader, writeRecordHeader } from './segment-format.ts';

interface Segment {
  name: string;
  /** First sequence in it; `undefined` while it is free. */
  firstSequence: number | undefined;
  sizeBytes: number;
  /** Never written to; removed only when there are too many. */
  isDamaged: boolean;
}

export interface SegmentWriterOptions {
  /** Made with the first record, if absent. */
  folder: string;
  log: Log;
  limits?: Pick<Limits, 'journal'>;
  /** False while the disk has no room for another segment; what there is goes on being used. Default: always. */
  mayGrow?: () => boolean;
  /** Sequences up to here are taken, whatever the folder holds: a lost journal never reuses them. */
  lastKnownSequence?: number;
  /** Damage before this sequence costs nothing: those records are stored elsewhere. */
  neededFrom?: number;
  /** Segments that the disk does not give count as damaged. Default: the opening fails until it gives them. */
  acceptsRefused?: boolean;
  /** As of `readJournal`. */
  isTornEndDamage?: boolean;
  files?: JournalFiles;
}

export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  readonly #limits: Limits['journal'];
  readonly #files: JournalFiles;
  readonly #segments: Segment[] = [];
  #nextSequence: number;
  #current: Segment | undefined;
  #file: JournalFile | undefined;
  #offset = 0;

  /** Reads the folder and writes nothing. @throws Error when the disk does not give something of it now */
  constructor(options: SegmentWriterOptions) {
    const { limits = LIMITS, files = nodeFiles, lastKnownSequence = 0, neededFrom = 1 } = options;
    this.#options = options;
    this.#limits = limits.journal;
    this.#files = files;
    this.#nextSequence = lastKnownSequence + 1;
    this.#takeInventory(neededFrom);
  }

  #takeInventory(neededFrom: number): void {
    const { folder, acceptsRefused = false, isTornEndDamage = false } = this.#options;
    const { segments, unused, unreadable } = listSegments(folder, acceptsRefused);
    const { segmentBytes } = this.#limits;
    for (const name of unused)
      this.#segments.push({ name, firstSequence: undefined, sizeBytes: segmentBytes, isDamaged: false });
    for (const { name, sizeBytes } of unreadable)
      this.#segments.push({ name, firstSequence: undefined, sizeBytes, isDamaged: true });
    const newest = newestSegment(folder);
    for (const [index, segment] of segments.entries()) {
      const { name, firstSequence, bytes } = segment;
      const end = endOf(segment, neededFrom);
      const { firstSequence: following, hasHeader: isWhole } = segments[index + 1] ?? {};
      // Cut short: the next one shows that more was written.
      const isShort =
        following !== undefined && isWhole && end.nextSequence < following && following > neededFrom;
      const lacksEnd = bytesCutOff(segment, newest) > 0 || (isTornEndDamage && end.hasTornEnd);
      const isDamaged =
        end.isDamaged || isShort || (following === undefined && lacksEnd) || name.endsWith(DAMAGED_SUFFIX);
      const listed = { name, firstSequence, sizeBytes: bytes.length, isDamaged };
      this.#segments.push(listed);
      if (following !== undefined || end.nextSequence < this.#nextSequence) continue;
      this.#nextSequence = end.nextSequence;
      if (end.hasTornEnd && !isDamaged)
        // A torn end cannot be told from damage, so it is not written over.
        this.#options.log.warn(
          'the last record of the journal is incomplete: it was not acknowledged, or is damaged',
          { segment: name, sequence: end.nextSequence },
        );
      else if (!isDamaged) {
        this.#current = listed;
        this.#offset = end.offset;
      }
    }
  }

  /** Renames damaged segments; one that cannot be renamed is left alone. */
  async setDamagedAside(): Promise<void> {
    const { folder, log } = this.#options;
    for (const segment of this.#segments) {
      if (!segment.isDamaged || segment.name.endsWith(DAMAGED_SUFFIX)) continue;
      const name = segment.name + DAMAGED_SUFFIX;
      const aside = this.#pathOf(name);
      try {
        await this.#files.rename(this.#pathOf(segment.name), aside);
        this.#files.syncFolder(folder);
        log.error('damaged segment of the journal set aside', { aside });
        segment.name = name;
      } catch (error) {
        const fields = { segment: segment.name, error };
        log.error('damaged segment of the journal is left as it is', fields);
      }
    }
  }

  async append(payload: Uint8Array): Promise<number> {
    const needed = SEGMENT.recordHeaderBytes + payload.length;
    // Four bytes more, because a zero length or the end of the file must follow a record.
    if (!this.#current || placeFrom(this.#offset, needed) + needed + 4 > this.#current.sizeBytes)
      await this.#nextSegment(needed);
    const current = this.#current as unknown as Segment;
    this.#file ??= await this.#files.open(this.#pathOf(current.name), false);
    const isFirst = this.#offset === 0;
    const start = isFirst ? SEGMENT.headerBytes : 0;
    const bytes = Buffer.allocUnsafe(start + needed);
    const place = placeFrom(this.#offset, bytes.length);
    if (isFirst) writeHeader(bytes, this.#nextSequence);
    bytes.set(payload, start + SEGMENT.recordHeaderBytes);
    writeRecordHeader(bytes, start, this.#nextSequence, payload);
    await this.#file.write(bytes, place);
    await this.#file.sync();
    if (isFirst) await this.#begun(current);
    this.#offset = place + bytes.length;
    return this.#nextSequence++;
  }

  /** Notes beside the segments that this one is in use: should it be missing at the next start, its records are. */
  async #begun(segment: Segment): Promise<void> {
    segment.firstSequence = this.#nextSequence;
    const path = this.#pathOf(NEWEST);
    try {
      const file = await this.#files.open(`${path}.new`, true);
      await file.write(Buffer.from(`${segment.name} ${this.#nextSequence} ${segment.sizeBytes}\n`), 0);
      await file.close();
      await this.#files.rename(`${path}.new`, path);
    } catch (error) {
      this.#options.log.warn('the newest segment of the journal could not be noted', { error });
    }
  }

  async #nextSegment(needed: number): Promise<void> {
    const wantedBytes = Math.max(this.#limits.segmentBytes, SEGMENT.headerBytes + needed + 4);
    await this.close();
    let segment = this.#free().find(({ sizeBytes }) => sizeBytes >= wantedBytes);
    if (!segment) {
      if (this.#options.mayGrow?.() === false)
        throw unavailable('The disk is almost full; what is left is for control.');
      segment = {
        name: this.#freeName(),
        firstSequence: undefined,
        sizeBytes: wantedBytes,
        isDamaged: false,
      };
      this.#file = await this.#createFile(segment);
      this.#segments.push(segment);
    }
    this.#current = segment;
    this.#offset = 0;
  }

  /** Writes zeros in small pieces: after large ones each record would make a large page of the cache dirty. */
  async #createFile({ name, sizeBytes }: Segment): Promise<JournalFile> {
    const { folder } = this.#options;
    await this.#files.makeFolder(folder);
    const path = this.#pathOf(name);
    const created = await this.#files.open(path, true);
    try {
      await writeZeros(created, sizeBytes);
      await created.sync();
      this.#files.syncFolder(folder);
    } catch (error) {
      await created.close();
      // Part of a segment is of no use, and its room is needed.
      await this.#files.remove(path);
      throw error;
    }
    return created;
  }

  #free(): Segment[] {
    return this.#segments.filter(
      (segment) => segment.firstSequence === undefined && !segment.isDamaged && segment !== this.#current,
    );
  }

  /** Everything up to this sequence is stored elsewhere: its segments are free, the surplus is removed. */
  async release(throughSequence: number): Promise<void> {
    const used = this.#segments
      .filter((segment) => segment.firstSequence !== undefined && segment !== this.#current)
      .sort((a, b) => (a.firstSequence ?? 0) - (b.firstSequence ?? 0));
    for (const [index, segment] of used.entries()) {
      const follower = used[index + 1]?.firstSequence ?? this.#current?.firstSequence ?? this.#nextSequence;
      if (follower > throughSequence + 1) break;
      if (!segment.isDamaged) segment.firstSequence = undefined;
    }
    const surplus = this.#free().filter(
      ({ sizeBytes }, index) =>
        index >= this.#limits.spareSegments || sizeBytes !== this.#limits.segmentBytes,
    );
    // The oldest damaged segments are removed, those without a readable record first.
    const setAside = this.#segments
      .filter(({ isDamaged, firstSequence }) => isDamaged && (firstSequence ?? 0) <= throughSequence)
      .sort((a, b) => (a.firstSequence ?? 0) - (b.firstSequence ?? 0));
    surplus.push(...setAside.slice(0, -this.#limits.damagedSegments));
    for (const segment of surplus) {
      this.#segments.splice(this.#segments.indexOf(segment), 1);
      await this.#files.remove(this.#pathOf(segment.name));
    }
  }

  /** Replaces the companion file, which is needed to read the records; after a power cut it is the old or the new one. */
  async writeCompanion(content: Uint8Array): Promise<void> {
    const { folder } = this.#options;
    await this.#files.makeFolder(folder);
    const path = this.#pathOf(COMPANION);
    const file = await this.#files.open(`${path}.new`, true);
    try {
      await file.write(sealCompanion(content), 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#files.rename(`${path}.new`, path);
    this.#files.syncFolder(folder);
  }

  /** Sequence of the last record on disk. */
  get lastSequence(): number {
    return this.#nextSequence - 1;
  }

  /** Bytes of all segment files. */
  sizeBytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.sizeBytes, 0);
  }

  /** Names of the damaged segments that nobody has removed. */
  damagedSegments(): string[] {
    return this.#segments
      .filter(({ isDamaged, name }) => isDamaged && existsSync(this.#pathOf(name)))
      .map(({ name }) => name);
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#current = undefined;
    await file?.close();
  }

  #pathOf(name: string): string {
    return join(this.#options.folder, name);
  }

  #freeName(): string {
    const taken = new Set(this.#segments.map(({ name }) => name.slice(0, NUMBER_DIGITS)));
    for (let number = 1; ; number++) {
      const digits = String(number).padStart(NUMBER_DIGITS, '0');
      if (!taken.has(digits)) return `${digits}.journal`;
    }
  }
}

const NUMBER_DIGITS = 6;

/** Writes in flight at once. Each round waits for a turn of the event loop, which others use as well. */
const WRITES_AT_ONCE = 256;

/** In pages, because after larger writes each record would make a larger part of the page cache dirty. */
async function writeZeros(file: JournalFile, sizeBytes: number): Promise<void> {
  const zeros = new Uint8Array(4_096);
  const write = (position: number): Promise<void> =>
    file.write(zeros.subarray(0, Math.min(zeros.length, sizeBytes - position)), position);
  for (let from = 0; from < sizeBytes;) {
    const to = Math.min(sizeBytes, from + WRITES_AT_ONCE * zeros.length);
    const writes: Promise<void>[] = [];
    for (; from < to; from += zeros.length) writes.push(write(from));
    await Promise.all(writes);
  }
}
