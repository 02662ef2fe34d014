/** The files of a journal as their writer sees them: which one is written to, which are free, which are left alone. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unavailable } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Log } from '../log/index.ts';
import type { JournalFile, JournalFiles } from './files.ts';
import { COMPANION, sealCompanion } from './companion.ts';
import { DAMAGED_SUFFIX, endOf, listSegments } from './read-journal.ts';
import { placeFrom, SEGMENT, writeHeader, writeRecordHeader } from './segment-format.ts';

interface Segment {
  name: string;
  /** First sequence in it; `undefined` while it is free. */
  firstSequence: number | undefined;
  sizeBytes: number;
  /** Not everything in it was read: never written to, never removed. */
  isDamaged: boolean;
}

interface SegmentWriterOptions {
  folder: string;
  files: JournalFiles;
  limits: Limits['journal'];
  log: Log;
  neededFrom: number;
  /** False: no further file is made. */
  mayGrow: () => boolean;
  /** At least this one is next. */
  nextSequence: number;
  /** What the disk does not give is damaged. */
  acceptsRefused: boolean;
}

export class SegmentWriter {
  readonly #options: SegmentWriterOptions;
  readonly #segments: Segment[] = [];
  #nextSequence: number;
  #current: Segment | undefined;
  #file: JournalFile | undefined;
  #offset = 0;

  /**
   * Reads the folder and writes nothing; a folder that is not there is made with the first record. @throws Error when the disk
   * does not give something of it now
   */
  constructor(options: SegmentWriterOptions) {
    this.#options = options;
    this.#nextSequence = options.nextSequence;
    this.#takeInventory(options.neededFrom);
  }

  #takeInventory(neededFrom: number): void {
    const { segments, unused, unreadable } = listSegments(this.#options.folder, this.#options.acceptsRefused);
    const { segmentBytes } = this.#options.limits;
    for (const name of unused)
      this.#segments.push({ name, firstSequence: undefined, sizeBytes: segmentBytes, isDamaged: false });
    for (const { name, sizeBytes } of unreadable)
      this.#segments.push({ name, firstSequence: undefined, sizeBytes, isDamaged: true });
    for (const [index, segment] of segments.entries()) {
      const { name, firstSequence, bytes } = segment;
      const end = endOf(segment, neededFrom);
      const { firstSequence: following, hasHeader: isWhole } = segments[index + 1] ?? {};
      // Cut short: the next one shows that more was written.
      const isShort =
        following !== undefined && isWhole && end.nextSequence < following && following > neededFrom;
      const isDamaged = end.isDamaged || isShort || name.endsWith(DAMAGED_SUFFIX);
      const listed = { name, firstSequence, sizeBytes: bytes.length, isDamaged };
      this.#segments.push(listed);
      if (following !== undefined || end.nextSequence < this.#nextSequence) continue;
      this.#nextSequence = end.nextSequence;
      if (end.hasTornEnd)
        // It cannot be told from damage, so it is not written over.
        this.#options.log.warn(
          'the last record of the journal is incomplete: it was not acknowledged, or is damaged',
          {
            segment: name,
            sequence: end.nextSequence,
          },
        );
      else if (!isDamaged) {
        this.#current = listed;
        this.#offset = end.offset;
      }
    }
  }

  /** Renames what could not be read; where that fails, it is left alone under its name. */
  async setDamagedAside(): Promise<void> {
    for (const segment of this.#segments) {
      if (!segment.isDamaged || segment.name.endsWith(DAMAGED_SUFFIX)) continue;
      const name = segment.name + DAMAGED_SUFFIX;
      try {
        await this.#options.files.rename(
          join(this.#options.folder, segment.name),
          join(this.#options.folder, name),
        );
        this.#options.files.syncFolder(this.#options.folder);
        this.#options.log.error('damaged segment of the journal set aside', {
          aside: join(this.#options.folder, name),
        });
        segment.name = name;
      } catch (error) {
        this.#options.log.error('damaged segment of the journal is left as it is', {
          segment: segment.name,
          error,
        });
      }
    }
  }

  async append(payload: Uint8Array): Promise<number> {
    const needed = SEGMENT.recordHeaderBytes + payload.length;
    // A record must be followed by a zero length or the end of the file, hence the four bytes.
    if (!this.#current || placeFrom(this.#offset, needed) + needed + 4 > this.#current.sizeBytes)
      await this.#nextSegment(needed);
    const current = this.#current as unknown as Segment;
    this.#file ??= await this.#options.files.open(join(this.#options.folder, current.name), false);
    const isFirst = this.#offset === 0;
    const start = isFirst ? SEGMENT.headerBytes : 0;
    const bytes = Buffer.allocUnsafe(start + needed);
    const place = placeFrom(this.#offset, bytes.length);
    if (isFirst) writeHeader(bytes, this.#nextSequence);
    bytes.set(payload, start + SEGMENT.recordHeaderBytes);
    writeRecordHeader(bytes, start, this.#nextSequence, payload);
    await this.#file.write(bytes, place);
    await this.#file.sync();
    if (isFirst) current.firstSequence = this.#nextSequence;
    this.#offset = place + bytes.length;
    return this.#nextSequence++;
  }

  async #nextSegment(needed: number): Promise<void> {
    const wantedBytes = Math.max(this.#options.limits.segmentBytes, SEGMENT.headerBytes + needed + 4);
    await this.close();
    let segment = this.#free().find(({ sizeBytes }) => sizeBytes >= wantedBytes);
    if (!segment) {
      if (!this.#options.mayGrow())
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

  /** Zeros in small pieces: large ones make the page cache dirty whole large pages at each later record. */
  async #createFile({ name, sizeBytes }: Segment): Promise<JournalFile> {
    await this.#options.files.makeFolder(this.#options.folder);
    const path = join(this.#options.folder, name);
    const created = await this.#options.files.open(path, true);
    try {
      const zeros = new Uint8Array(4_096);
      for (let position = 0; position < sizeBytes; position += zeros.length)
        await created.write(zeros.subarray(0, Math.min(zeros.length, sizeBytes - position)), position);
      await created.sync();
      this.#options.files.syncFolder(this.#options.folder);
    } catch (error) {
      await created.close();
      // Half of a segment is of no use, and somebody else needs the room.
      await this.#options.files.remove(path);
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
        index >= this.#options.limits.spareSegments || sizeBytes !== this.#options.limits.segmentBytes,
    );
    // Of those that tell nothing any more nobody knows better: they go first.
    const setAside = this.#segments
      .filter(({ isDamaged, firstSequence }) => isDamaged && (firstSequence ?? 0) <= throughSequence)
      .sort((a, b) => (a.firstSequence ?? 0) - (b.firstSequence ?? 0));
    surplus.push(...setAside.slice(0, -this.#options.limits.damagedSegments));
    for (const segment of surplus) {
      this.#segments.splice(this.#segments.indexOf(segment), 1);
      await this.#options.files.remove(join(this.#options.folder, segment.name));
    }
  }

  /**
   * Stores what a reader of the records cannot do without, in place of what was stored before; after a power cut it is the old
   * or the new one.
   */
  async writeCompanion(content: Uint8Array): Promise<void> {
    await this.#options.files.makeFolder(this.#options.folder);
    const path = join(this.#options.folder, COMPANION);
    const file = await this.#options.files.open(`${path}.new`, true);
    try {
      await file.write(sealCompanion(content), 0);
      await file.sync();
    } finally {
      await file.close();
    }
    await this.#options.files.rename(`${path}.new`, path);
    this.#options.files.syncFolder(this.#options.folder);
  }

  /** Sequence of the last record on disk. */
  get lastSequence(): number {
    return this.#nextSequence - 1;
  }

  /** Bytes of all segment files. */
  sizeBytes(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.sizeBytes, 0);
  }

  /** Names of the segments that were set aside because not everything in them could be read, and that nobody has removed. */
  damagedSegments(): string[] {
    return this.#segments
      .filter(({ isDamaged, name }) => isDamaged && existsSync(join(this.#options.folder, name)))
      .map(({ name }) => name);
  }

  async close(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    this.#current = undefined;
    await file?.close();
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
