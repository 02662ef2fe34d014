import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import {
  findRecord,
  isUnused,
  readRecord,
  SEGMENT,
  writeRecordHeader,
} from '../../../src/telemetry-store/journal/segment-format.ts';
import { runs } from '../../support/runs.ts';

const SEQUENCE_MAX = 12;

function recordOf(sequence: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(SEGMENT.recordHeaderBytes + payload.length);
  bytes.set(payload, SEGMENT.recordHeaderBytes);
  writeRecordHeader(bytes, 0, sequence, payload);
  return bytes;
}

/** What a segment may hold: records of now and of earlier lives, room never written to, and damage. */
const piece = fc.oneof(
  fc
    .tuple(
      fc.integer({ min: 1, max: SEQUENCE_MAX }),
      fc.constantFrom(0, 2 ** 32, 2 ** 33),
      fc.uint8Array({ minLength: 1, maxLength: 40 }),
    )
    .map(([low, high, payload]) => recordOf(high + low, payload)),
  fc.integer({ min: 1, max: 200 }).map((length) => Buffer.alloc(length)),
  fc.uint8Array({ minLength: 1, maxLength: 60 }).map((noise) => Buffer.from(noise)),
);

/** Byte by byte, but where a damaged record tells by its length where the next one is. */
function plainlyFound(bytes: Buffer, offset: number, from: number, before: number): number | undefined {
  const first = readRecord(bytes, offset);
  const second = first?.isIntact === false ? readRecord(bytes, first.end) : undefined;
  if (second?.isIntact && second.sequence === from + 1 && from + 1 < before) return second.start;
  for (let at = offset; at < bytes.length; at++) {
    const record = readRecord(bytes, at);
    if (record?.isIntact && record.sequence >= from && record.sequence < before) return record.start;
  }
  return undefined;
}

describe('the search for a record in a segment', () => {
  test('the search for a record finds nothing in a file that was never written to', () => {
    assert.equal(findRecord(Buffer.alloc(4_096), 0, 0, SEQUENCE_MAX), undefined);
    assert.ok(isUnused(Buffer.alloc(4_096)));
  });

  test('the search for a record sees one byte anywhere', () => {
    for (let at = 0; at < 100; at++) {
      const bytes = Buffer.alloc(100);
      bytes[at] = 1;
      assert.equal(isUnused(bytes), false, `byte ${at}`);
    }
  });

  test('the search for a record finds what a search byte by byte finds', () => {
    const range = fc.tuple(
      fc.integer({ min: 0, max: SEQUENCE_MAX }),
      fc.constantFrom(0, 2 ** 32),
      fc.constantFrom(1, SEQUENCE_MAX, 2 ** 32, 2 ** 34),
    );
    fc.assert(
      fc.property(
        fc.array(piece, { maxLength: 12 }),
        fc.nat(300),
        range,
        (pieces, skip, [low, high, length]) => {
          const bytes = Buffer.concat(pieces);
          const offset = Math.min(skip, bytes.length);
          const from = high + low;
          const expected = plainlyFound(bytes, offset, from, from + length);
          assert.equal(findRecord(bytes, offset, from, from + length)?.start, expected);
        },
      ),
      { numRuns: runs(500) },
    );
  });
});
