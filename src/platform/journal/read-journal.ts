/** Reads a journal folder back, in order, as far as it is intact. Synchronous: it runs before anything else. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readHeader, readRecord, SEGMENT } from './segment-format.ts';

export interface JournalRecord {
  sequence: number;
  payload: Buffer;
}

/** Records that were written, and can no longer be read. */
export interface JournalDamage {
  segment: string;
  /** First sequence that is missing. */
  sequence: number;
}

export interface SegmentFile {
  name: string;
  path: string;
  firstSequence: number;
}

const SEGMENT_NAME = /^\d{6}\.journal$/;

/** Segments with an intact header by first sequence, and the names of all other segment files. */
export function listSegments(folder: string): { segments: SegmentFile[]; unused: string[] } {
  const segments: SegmentFile[] = [];
  const unused: string[] = [];
  if (!existsSync(folder)) return { segments, unused };
  for (const name of readdirSync(folder).filter((candidate) => SEGMENT_NAME.test(candidate))) {
    const path = join(folder, name);
    const firstSequence = readHeader(readFileSync(path).subarray(0, SEGMENT.headerBytes));
    if (firstSequence === undefined) unused.push(name);
    else segments.push({ name, path, firstSequence });
  }
  segments.sort((a, b) => a.firstSequence - b.firstSequence);
  return { segments, unused };
}

/**
 * All intact records with a sequence above `afterSequence`, oldest first. What is damaged is reported and
 * skipped; a torn end, as a power cut leaves it, is no damage: it was never acknowledged.
 */
export function* readJournal(
  folder: string,
  afterSequence: number,
  onDamage: (damage: JournalDamage) => void,
): Generator<JournalRecord> {
  const { segments } = listSegments(folder);
  for (const [index, segment] of segments.entries()) {
    const next = segments[index + 1];
    if (next && next.firstSequence <= afterSequence + 1) continue;
    const walk = walkSegment(segment, onDamage);
    for (let step = walk.next(); ; step = walk.next()) {
      if (step.done) {
        if (next && step.value.nextSequence < next.firstSequence)
          onDamage({ segment: segment.name, sequence: step.value.nextSequence });
        break;
      }
      if (step.value.sequence > afterSequence) yield step.value;
    }
  }
}

export interface SegmentEnd {
  nextSequence: number;
  /** Offset at which the next record goes. */
  offset: number;
}

/** The records of one segment; returns where it ends. */
export function* walkSegment(
  segment: SegmentFile,
  onDamage: (damage: JournalDamage) => void,
): Generator<JournalRecord, SegmentEnd> {
  const bytes = readFileSync(segment.path);
  let expected = segment.firstSequence;
  let offset = SEGMENT.headerBytes;
  for (;;) {
    const record = readRecord(bytes, offset);
    if (!record) break;
    if (record.intact) {
      if (record.sequence !== expected) break;
      yield { sequence: record.sequence, payload: record.payload };
    } else {
      // Only a record with an intact successor was once complete; anything else is the torn end.
      const successor = readRecord(bytes, record.end);
      if (!successor?.intact || successor.sequence !== expected + 1) break;
      onDamage({ segment: segment.name, sequence: expected });
    }
    expected++;
    offset = record.end;
  }
  return { nextSequence: expected, offset };
}
