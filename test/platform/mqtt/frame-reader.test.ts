import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  array,
  assert as check,
  constant,
  integer,
  nat,
  oneof,
  property,
  tuple,
  uint8Array,
} from 'fast-check';
import { FrameReader } from '../../../src/platform/mqtt/frame-reader.ts';
import type { Violation } from '../../../src/platform/mqtt/packets.ts';
import { packet } from '../../support/mqtt-bytes.ts';
import { runs } from '../../support/runs.ts';

interface Reading {
  reader: FrameReader;
  frames: string[];
  violations: Violation[];
  headers: number;
}

function reading(react: (reader: FrameReader) => void = () => undefined, limitBytes = Infinity): Reading {
  const result: Reading = {
    frames: [],
    violations: [],
    headers: 0,
    reader: new FrameReader({
      admit: (_firstByte, lengthBytes) => {
        result.headers++;
        return lengthBytes > limitBytes ? { statement: 'test', problem: 'too large' } : undefined;
      },
      frame: (firstByte, buffer, start, end) => {
        result.frames.push(`${firstByte}:${buffer.subarray(start, end).toString('hex')}`);
        react(result.reader);
      },
      refuse: (violation) => void result.violations.push(violation),
    }),
  };
  return result;
}

/** Cuts bytes at the given places, whatever they are. */
function cut(bytes: Buffer, places: readonly number[]): Buffer[] {
  const marks = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return marks.slice(1).map((mark, index) => bytes.subarray(marks[index], mark));
}

const sizes = oneof(nat(10), nat(300), constant(127), constant(128), integer({ min: 16_380, max: 16_390 }));
const frames = array(
  tuple(nat(255), sizes, uint8Array({ minLength: 1, maxLength: 4 })).map(
    ([firstByte, sizeBytes, pattern]) => ({
      firstByte,
      body: Buffer.alloc(sizeBytes, Buffer.from(pattern)),
    }),
  ),
  { minLength: 1, maxLength: 12 },
);

describe('the frame reader', () => {
  test('the frame reader finds the same frames however the bytes are split', () => {
    check(
      property(frames, array(nat(70_000), { maxLength: 40 }), (parts, places) => {
        const bytes = Buffer.concat(parts.map(({ firstByte, body }) => packet(firstByte, body)));
        const expected = parts.map(({ firstByte, body }) => `${firstByte}:${body.toString('hex')}`);
        const { reader, frames: found, violations } = reading();
        for (const chunk of cut(bytes, places)) reader.push(chunk);
        assert.deepEqual(found, expected);
        assert.deepEqual(violations, []);
        assert.equal(reader.isMidFrame, false);
      }),
      { numRuns: runs(500) },
    );
  });

  test('the frame reader finds the same frames when it is paused after each of them', () => {
    check(
      property(frames, array(nat(70_000), { maxLength: 40 }), (parts, places) => {
        const bytes = Buffer.concat(parts.map(({ firstByte, body }) => packet(firstByte, body)));
        const { reader, frames: found } = reading((held) => held.hold());
        for (const chunk of cut(bytes, places)) reader.push(chunk);
        assert.equal(found.length, 1);
        for (let index = 0; index < parts.length; index++) reader.release();
        assert.deepEqual(
          found,
          parts.map(({ firstByte, body }) => `${firstByte}:${body.toString('hex')}`),
        );
      }),
      { numRuns: runs(200) },
    );
  });

  test('the frame reader gives nothing after a stop within a chunk', () => {
    const { reader, frames: found } = reading((stopped) => stopped.stop());
    reader.push(Buffer.concat([packet(0xc0), packet(0xc0)]));
    reader.push(packet(0xc0));
    reader.release();
    assert.deepEqual(found, ['192:']);
  });

  test('the frame reader gives a packet within one chunk without copying it', () => {
    const chunk = packet(0x30, [1, 2, 3]);
    let seen: Buffer | undefined;
    const reader = new FrameReader({
      admit: () => undefined,
      frame: (_firstByte, buffer) => void (seen = buffer),
      refuse: () => assert.fail(),
    });
    reader.push(chunk);
    assert.equal(seen, chunk);
  });

  for (const splitAt of [1, 2, 3, 4])
    test(`the frame reader refuses an announced size before any of the body, header split after ${splitAt} bytes`, () => {
      const { reader, violations, frames: found } = reading(undefined, 1_000);
      const bytes = Buffer.from([0x30, 0x80, 0x80, 0x01, 0, 0, 0]);
      reader.push(bytes.subarray(0, splitAt));
      reader.push(bytes.subarray(splitAt));
      assert.equal(violations.length, 1);
      assert.deepEqual(found, []);
    });

  test('the frame reader keeps no more than twice what arrived of an announced megabyte', () => {
    const { reader } = reading();
    const before = process.memoryUsage().arrayBuffers;
    reader.push(Buffer.from([0x30, 0x80, 0x80, 0x40]));
    for (let index = 0; index < 1_000; index++) reader.push(Buffer.from([index & 0xff]));
    assert.ok(process.memoryUsage().arrayBuffers - before < 1_000_000);
    assert.equal(reader.isMidFrame, true);
  });

  test('the frame reader takes 256 KiB byte by byte into a buffer that doubles', (t) => {
    const { reader, frames: found } = reading();
    const bytes = packet(0x30, Buffer.alloc(262_144));
    const chunks = [...bytes].map((byte) => Buffer.from([byte]));
    const allocate = t.mock.method(Buffer, 'allocUnsafe');
    for (const chunk of chunks) reader.push(chunk);
    assert.equal(found.length, 1);
    const sizesBytes = allocate.mock.calls.map(({ arguments: [sizeBytes] }) => sizeBytes);
    // From 256 bytes on; each is copied into the next one.
    assert.deepEqual(sizesBytes, [
      ...Array.from({ length: 11 }, (_, doublings) => 256 * 2 ** doublings),
      bytes.length,
    ]);
  });
});
