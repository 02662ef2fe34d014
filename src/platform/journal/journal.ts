/**
 * An append-only journal of records in files of its own, synced in groups. Beside SQLite rather than in it,
 * because a sync then runs outside the event loop, and because one small record rewrites one 4 KiB page of
 * the card where a SQLite commit rewrites two and its checkpoint another (docs/decisions/0010).
 *
 * Segments are filled with zeros when made and recycled when released, so that a sync changes data only and
 * the file system has no metadata to commit.
 */
import { join } from 'node:path';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import type { Clock } from '../clock/index.ts';
import { type CommitGroup, createCommitGroup } from '../commit/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import { type JournalFile, type JournalFiles, nodeFiles } from './files.ts';
import { listSegments, type SegmentFile, walkSegment } from './read-journal.ts';
import { SEGMENT, writeHeader, writeRecordHeader } from './segment-format.ts';

export interface JournalOptions {
  folder: string;
  /** Prefix of the metrics, snake_case. */
  name: string;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  /** Hands over everything buffered as one record; `undefined` when there is nothing. */
  encode: () => Uint8Array | undefined;
  /**
   * The record is on disk. Called in order, before the promises of its group resolve, which wait for the
   * returned one too: so a slow consumer slows the producers.
   */
  synced: (sequence: number, payload: Uint8Array) => Promise<void> | void;
  /** Sequences up to here are taken, whatever the folder holds: a lost journal never reuses them. */
  lastKnownSequence?: number;
  limits?: { commits: Limits['commits']; journal: Limits['journal'] };
  files?: JournalFiles;
}

export interface Journal extends CommitGroup {
  /** Everything up to this sequence is stored elsewhere: its segments are free. */
  release: (throughSequence: number) => Promise<void>;
  /** Sequence of the last record on disk. */
  readonly lastSequence: number;
  /** Bytes of all segment files. */
  sizeBytes: () => number;
}

interface Segment {
  name: string;
  /** First sequence in it; `undefined` while it is free. */
  firstSequence: number | undefined;
  sizeBytes: number;
}

/** Opens the folder and continues after its last intact record. Read it with `readJournal` first. */
export async function createJournal(options: JournalOptions): Promise<Journal> {
  const limits = options.limits ?? LIMITS;
  const files = options.files ?? nodeFiles;
  await files.makeFolder(options.folder);
  const writer = await openWriter(options, files, limits.journal);
  let pending: Uint8Array | undefined;

  const group = createCommitGroup({
    name: options.name,
    target: options.folder,
    clock: options.clock,
    log: options.log,
    metrics: options.metrics,
    limits: limits.commits,
    commit: async () => {
      for (;;) {
        // A record that could not be written stays here and is tried again before anything newer.
        pending ??= options.encode();
        if (!pending) return;
        const sequence = await writer.append(pending);
        const written = pending;
        pending = undefined;
        await options.synced(sequence, written);
      }
    },
  });

  return {
    request: group.request,
    isFull: group.isFull,
    flush: group.flush,
    get failure() {
      return group.failure;
    },
    release: writer.release,
    get lastSequence() {
      return writer.lastSequence();
    },
    sizeBytes: writer.sizeBytes,
    stop: async () => {
      await group.stop();
      await writer.close();
    },
  };
}

interface Writer {
  append: (payload: Uint8Array) => Promise<number>;
  release: (throughSequence: number) => Promise<void>;
  lastSequence: () => number;
  sizeBytes: () => number;
  close: () => Promise<void>;
}

async function openWriter(
  options: JournalOptions,
  files: JournalFiles,
  limits: Limits['journal'],
): Promise<Writer> {
  const { folder } = options;
  const found = listSegments(folder);
  const segments: Segment[] = [
    ...found.segments.map((segment) => toSegment(segment, limits)),
    ...found.unused.map((name) => ({ name, firstSequence: undefined, sizeBytes: limits.segmentBytes })),
  ];
  const last = found.segments.at(-1);
  const end = last && endOf(last);
  let nextSequence = Math.max(end?.nextSequence ?? 1, (options.lastKnownSequence ?? 0) + 1);
  let current: Segment | undefined;
  let file: JournalFile | undefined;
  let offset = 0;
  if (last && end && end.nextSequence === nextSequence) {
    current = segments.find((segment) => segment.name === last.name);
    file = await files.open(last.path, false);
    offset = end.offset;
  }

  async function append(payload: Uint8Array): Promise<number> {
    const needed = SEGMENT.recordHeaderBytes + payload.length;
    // A record must be followed by a zero length or the end of the file, hence the four bytes.
    if (!current || !file || offset + needed + 4 > current.sizeBytes) await nextSegment(needed);
    const isFirst = offset === 0;
    const start = isFirst ? SEGMENT.headerBytes : 0;
    const bytes = Buffer.allocUnsafe(start + needed);
    if (isFirst) writeHeader(bytes, nextSequence);
    bytes.set(payload, start + SEGMENT.recordHeaderBytes);
    writeRecordHeader(bytes, start, nextSequence, payload);
    const target = file as JournalFile;
    await target.write(bytes, offset);
    await target.sync();
    if (isFirst && current) current.firstSequence = nextSequence;
    offset += bytes.length;
    return nextSequence++;
  }

  async function nextSegment(needed: number): Promise<void> {
    const wantedBytes = Math.max(limits.segmentBytes, SEGMENT.headerBytes + needed + 4);
    await file?.close();
    file = undefined;
    current = undefined;
    let segment = segments.find(
      (candidate) => candidate.firstSequence === undefined && candidate.sizeBytes >= wantedBytes,
    );
    if (segment) file = await files.open(join(folder, segment.name), false);
    else {
      segment = { name: freeName(segments), firstSequence: undefined, sizeBytes: wantedBytes };
      file = await createSegment(join(folder, segment.name), wantedBytes);
      segments.push(segment);
    }
    current = segment;
    offset = 0;
  }

  /** Zeros in small pieces: large ones make the page cache dirty whole large pages at each later record. */
  async function createSegment(path: string, sizeBytes: number): Promise<JournalFile> {
    const created = await files.open(path, true);
    try {
      const zeros = new Uint8Array(4_096);
      for (let position = 0; position < sizeBytes; position += zeros.length)
        await created.write(zeros.subarray(0, Math.min(zeros.length, sizeBytes - position)), position);
      await created.sync();
      files.syncFolder(folder);
    } catch (error) {
      await created.close();
      throw error;
    }
    return created;
  }

  async function release(throughSequence: number): Promise<void> {
    const used = segments
      .filter((segment) => segment.firstSequence !== undefined && segment !== current)
      .sort((a, b) => (a.firstSequence ?? 0) - (b.firstSequence ?? 0));
    for (const [index, segment] of used.entries()) {
      const follower = used[index + 1]?.firstSequence ?? current?.firstSequence ?? nextSequence;
      if (follower > throughSequence + 1) break;
      segment.firstSequence = undefined;
    }
    const free = segments.filter((segment) => segment.firstSequence === undefined && segment !== current);
    for (const segment of free) {
      const surplus = free.indexOf(segment) >= limits.spareSegments;
      if (!surplus && segment.sizeBytes === limits.segmentBytes) continue;
      segments.splice(segments.indexOf(segment), 1);
      await files.remove(join(folder, segment.name));
    }
  }

  return {
    append,
    release,
    lastSequence: () => nextSequence - 1,
    sizeBytes: () => segments.reduce((sum, segment) => sum + segment.sizeBytes, 0),
    close: async () => {
      await file?.close();
      file = undefined;
      current = undefined;
    },
  };
}

function toSegment(segment: SegmentFile, limits: Limits['journal']): Segment {
  return { name: segment.name, firstSequence: segment.firstSequence, sizeBytes: limits.segmentBytes };
}

function endOf(segment: SegmentFile): { nextSequence: number; offset: number } {
  // Damage was reported when the journal was read.
  const walk = walkSegment(segment, () => undefined);
  for (;;) {
    const step = walk.next();
    if (step.done) return step.value;
  }
}

function freeName(segments: readonly Segment[]): string {
  const taken = new Set(segments.map((segment) => segment.name));
  for (let number = 1; ; number++) {
    const name = `${String(number).padStart(6, '0')}.journal`;
    if (!taken.has(name)) return name;
  }
}
