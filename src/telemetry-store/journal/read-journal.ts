/**
 * Reads a journal folder in order. Damage costs only the damaged records: later ones are found by their header and
 * checksum. Synchronous, because it runs before anything else. Writes nothing.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isThere, readPlainFile } from '../../platform/files/index.ts';
import { isNeverGiven } from './refusal.ts';
import {
  findRecord,
  isUnused,
  pageFrom,
  readHeader,
  readRecord,
  isBegun,
  type RecordAt,
  SEGMENT,
} from './segment-format.ts';

/** One record as it was appended. */
export interface JournalRecord {
  sequence: number;
  payload: Buffer;
}

/** Records that can no longer be read. */
export interface JournalDamage {
  segment: string;
  /** First missing sequence; undefined: unknown. */
  sequence: number | undefined;
  /** Number of missing records; undefined: unknown. */
  recordCount: number | undefined;
  /** Bytes that belong to no intact record. */
  bytes: number;
}

type OnDamage = (damage: JournalDamage) => void;

interface Reading {
  /** A file that the disk does not give counts as damaged. Default: it is an error. */
  acceptsRefused?: boolean;
  /**
   * A record that was begun at the end, and is not whole, is damaged. Default: a power cut may have left it, and it was
   * never acknowledged.
   */
  isTornEndDamage?: boolean;
}

interface SegmentFile {
  name: string;
  path: string;
  firstSequence: number;
  bytes: Buffer;
  /** False: the first sequence is that of the first record found, and earlier ones are missing. */
  hasHeader: boolean;
}

interface SegmentList {
  /** By first sequence. */
  segments: SegmentFile[];
  /** Never written to: all zeros. */
  unused: string[];
  /** Without an intact record, or the file could not be read. */
  unreadable: { name: string; sizeBytes: number; error: Error | undefined }[];
}

/** G: enough for tens of thousands of years of commits; it keeps the search for a first record short. */
const SEQUENCE_BEFORE = 2 ** 40;

const SEGMENT_NAME = /^\d{6}\.journal(\.damaged)?$/;

/** Suffix of a damaged segment, which is still read but never written to. */
export const DAMAGED_SUFFIX = '.damaged';

/** @throws Error when the disk does not give a segment now, unless `acceptsRefused`: then it counts as damaged */
export function listSegments(folder: string, acceptsRefused: boolean): SegmentList {
  const list: SegmentList = { segments: [], unused: [], unreadable: [] };
  if (!isThere(folder)) return list;
  for (const name of readdirSync(folder)
    .filter((candidate) => SEGMENT_NAME.test(candidate))
    .sort())
    addSegment(list, name, join(folder, name), acceptsRefused);
  list.segments.sort((a, b) => a.firstSequence - b.firstSequence);
  return list;
}

function addSegment(list: SegmentList, name: string, path: string, acceptsRefused: boolean): void {
  let bytes: Buffer;
  try {
    bytes = readPlainFile(path);
  } catch (error) {
    // Another time it is given. Until then its records must not be passed over, nor their numbers used again.
    if (!acceptsRefused && !isNeverGiven(error)) throw error;
    list.unreadable.push({ name, sizeBytes: 0, error: error as Error });
    return;
  }
  // A segment is made with its full size.
  if (bytes.length === 0) return void list.unreadable.push({ name, sizeBytes: 0, error: undefined });
  const firstSequence = readHeader(bytes);
  if (firstSequence !== undefined)
    return void list.segments.push({ name, path, firstSequence, bytes, hasHeader: true });
  if (isUnused(bytes)) return void list.unused.push(name);
  const found = findRecord(bytes, 0, 0, SEQUENCE_BEFORE);
  if (found) list.segments.push({ name, path, firstSequence: found.sequence, bytes, hasHeader: false });
  else list.unreadable.push({ name, sizeBytes: bytes.length, error: undefined });
}

/**
 * All intact records with a sequence above `afterSequence`, oldest first. Missing ones are reported.
 * @throws Error when the disk does not give a file now
 */
export function* readJournal(
  folder: string,
  afterSequence: number,
  onDamage: OnDamage,
  { acceptsRefused = false, isTornEndDamage = false }: Reading = {},
): Generator<JournalRecord> {
  const { segments, unreadable } = listSegments(folder, acceptsRefused);
  for (const { name, sizeBytes } of unreadable)
    if (!name.endsWith(DAMAGED_SUFFIX))
      onDamage({ segment: name, sequence: undefined, recordCount: undefined, bytes: sizeBytes });
  /** The next sequence; undefined: any. */
  let expected = afterSequence > 0 ? afterSequence + 1 : undefined;
  for (const [index, segment] of segments.entries()) {
    const { firstSequence: following, hasHeader = true, name = '' } = segments[index + 1] ?? {};
    if (following !== undefined && following <= afterSequence + 1) continue;
    for (const step of walkSegment(segment, following)) {
      const { sequence, payload } = step.record;
      if (expected !== undefined && sequence < expected) continue;
      if (sequence > afterSequence) {
        const missingFrom = Math.max(expected ?? step.expected, afterSequence + 1);
        if (sequence > missingFrom)
          onDamage(damageOf(segment.name, missingFrom, sequence, step.skippedBytes));
        yield { sequence, payload };
      }
      expected = sequence + 1;
    }
    if (following !== undefined && (expected ?? segment.firstSequence) < following) {
      const missingFrom = Math.max(expected ?? segment.firstSequence, afterSequence + 1);
      onDamage(damageOf(hasHeader ? segment.name : name, missingFrom, following, 0));
      expected = following;
    }
  }
  const newest = newestSegment(folder);
  const nextSequence = Math.max(afterSequence + 1, expected ?? 1);
  if (newest && newest.firstSequence >= nextSequence)
    onDamage({ segment: newest.name, sequence: newest.firstSequence, recordCount: undefined, bytes: 0 });
  else reportEnd(segments.at(-1), newest, { nextSequence, isTornEndDamage, onDamage });
}

/** Records that are missing at the end of the last segment. */
function reportEnd(
  last: SegmentFile | undefined,
  newest: NewestSegment | undefined,
  {
    nextSequence,
    isTornEndDamage,
    onDamage,
  }: { nextSequence: number; isTornEndDamage: boolean; onDamage: OnDamage },
): void {
  // One that was set aside was reported then.
  if (!last || last.name.endsWith(DAMAGED_SUFFIX)) return;
  const missingBytes = bytesCutOff(last, newest);
  const report = { segment: last.name, sequence: nextSequence };
  if (missingBytes > 0) onDamage({ ...report, recordCount: undefined, bytes: missingBytes });
  else if (isTornEndDamage && endOf(last, nextSequence).hasTornEnd)
    onDamage({ ...report, recordCount: 1, bytes: 0 });
}

/** How much shorter the segment is than it was when it was begun. */
export function bytesCutOff({ name, bytes }: SegmentFile, newest: NewestSegment | undefined): number {
  return newest?.name === name ? Math.max(0, newest.sizeBytes - bytes.length) : 0;
}

/** The segment that was begun last. Not synced: after a power cut it may be an older one, or none. */
interface NewestSegment {
  name: string;
  firstSequence: number;
  sizeBytes: number;
}

export const NEWEST = 'newest';

export function newestSegment(folder: string): NewestSegment | undefined {
  const path = join(folder, NEWEST);
  if (!isThere(path)) return undefined;
  const text = readPlainFile(path).toString();
  const [, name, sequence, sizeBytes = 0] = /^(\d{6}\.journal) (\d+)(?: (\d+))?\n$/.exec(text) ?? [];
  return name === undefined
    ? undefined
    : { name, firstSequence: Number(sequence), sizeBytes: Number(sizeBytes) };
}

const damageOf = (segment: string, from: number, before: number, bytes: number): JournalDamage => ({
  segment,
  sequence: from,
  recordCount: before - from,
  bytes,
});

interface Step {
  record: RecordAt;
  /** The sequence that would have been next. */
  expected: number;
  /** Bytes between the record before and this one that belong to none. */
  skippedBytes: number;
}

/** The intact records of one segment below `beforeSequence`, damaged stretches passed. */
function* walkSegment(segment: SegmentFile, beforeSequence?: number): Generator<Step, void> {
  const { bytes } = segment;
  let expected = segment.firstSequence;
  let offset = segment.hasHeader ? SEGMENT.headerBytes : 0;
  for (;;) {
    // A segment of n bytes has fewer than n records: a higher sequence is chance.
    const before = Math.min(beforeSequence ?? Number.MAX_SAFE_INTEGER, expected + bytes.length);
    const record = nextRecord(bytes, offset, expected) ?? findRecord(bytes, offset, expected, before);
    if (!record) return;
    yield { record, expected, skippedBytes: record.start - offset };
    expected = record.sequence + 1;
    offset = record.end;
  }
}

/** The intact record of this sequence at one of the two places where the writer may put it after `offset`. */
function nextRecord(bytes: Buffer, offset: number, sequence: number): RecordAt | undefined {
  const next = readRecord(bytes, offset);
  if (next?.isIntact && next.sequence === sequence) return next;
  const onPage = readRecord(bytes, pageFrom(offset));
  return onPage?.isIntact && onPage.sequence === sequence ? onPage : undefined;
}

/** Where a segment ends, and whether it is damaged. */
interface SegmentEnd {
  nextSequence: number;
  /** Offset at which the next record goes. */
  offset: number;
  /** Records from `neededFrom` on are missing within it. */
  isDamaged: boolean;
  /** The record after the last one was begun: it was never acknowledged, or is damaged. */
  hasTornEnd: boolean;
}

export function endOf(segment: SegmentFile, neededFrom: number): SegmentEnd {
  const end = {
    nextSequence: segment.firstSequence,
    offset: SEGMENT.headerBytes,
    isDamaged: !segment.hasHeader,
  };
  for (const { record, expected } of walkSegment(segment)) {
    end.isDamaged ||= record.sequence > expected && record.sequence > neededFrom;
    end.nextSequence = record.sequence + 1;
    end.offset = record.end;
  }
  const hasTornEnd = [end.offset, pageFrom(end.offset)].some((place) =>
    isBegun(segment.bytes, place, end.nextSequence),
  );
  return { ...end, hasTornEnd };
}
