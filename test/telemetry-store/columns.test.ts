import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  array,
  assert as assertProperty,
  bigInt,
  constantFrom,
  double,
  float,
  integer,
  nat,
  oneof,
  property,
  string,
  tuple,
  uint8Array,
} from 'fast-check';
import {
  decodeBlock,
  decodePartCells,
  encodeBlock,
  encodePart,
} from '../../src/telemetry-store/codec/block.ts';
import { DamagedBlockError, hasCells } from '../../src/telemetry-store/codec/block-parts.ts';
import {
  BatchReader,
  BatchWriter,
  createCoding,
  type BatchSink,
} from '../../src/telemetry-store/codec/batch.ts';
import { decodeLatest, encodeLatest } from '../../src/telemetry-store/codec/latest-blob.ts';
import { lastOf, type Rollup, rollUp } from '../../src/telemetry-store/codec/rollup.ts';
import { Samples } from '../../src/telemetry-store/codec/samples.ts';
import type { StoredValue } from '../../src/telemetry-store/codec/series.ts';
import { runs } from '../support/runs.ts';

const single = oneof(
  float({ noNaN: true, noDefaultInfinity: true }),
  integer({ min: -9_999_999, max: 9_999_999 }).map((value) => Math.fround(value / 10)),
  integer({ min: -99_999, max: 99_999 }).map((value) => Math.fround(value / 1_000)),
  constantFrom(0, 3.4028234663852886e38, 1.401298464324817e-45, 2 ** -126, 2 ** 24 + 2, 0.1, 16_777_217).map(
    Math.fround,
  ),
).map((value) => value + 0);
const number = oneof(
  integer({ min: -300, max: 300 }).map((value) => value / 10),
  integer(),
  double({ noNaN: true, noDefaultInfinity: true }),
  constantFrom(0, 1e15, -1e15, 2 ** 51, 2 ** 27, 1e-9, 5e-324, Number.MAX_VALUE, Number.MIN_SAFE_INTEGER),
).map((value) => value + 0);
const steps = array(tuple(oneof(constantFrom(1, 1, 1, 1, 2), integer({ min: 1, max: 4_000 })), nat()), {
  minLength: 1,
  maxLength: 3_000,
});

function assertSame(actual: Samples, expected: Samples): void {
  assert.equal(actual.count, expected.count);
  for (let index = 0; index < expected.count; index++) {
    assert.equal(actual.times[index], expected.times[index]);
    assert.equal(actual.valueAt(index), expected.valueAt(index));
  }
}

function roundTrip(samples: Samples): void {
  const decoded = new Samples(samples.kind);
  decodeBlock(7, encodeBlock(7, samples, 0, samples.count), decoded);
  assertSame(decoded, samples);
}

describe('a block', () => {
  test('a block gives back numbers exactly, whatever they are', () => {
    assertProperty(
      property(steps, array(number, { minLength: 1, maxLength: 40 }), (times, values) => {
        const samples = new Samples('number');
        let at = 1_700_000_000;
        for (const [step, pick] of times) samples.push((at += step), values[pick % values.length] ?? 0);
        roundTrip(samples);
      }),
      { numRuns: runs(300) },
    );
  });

  test('a block gives back numbers of 32 bits exactly, alone and among others', () => {
    assertProperty(
      property(
        array(single, { minLength: 1, maxLength: 40 }),
        array(number, { maxLength: 2 }),
        integer({ min: 1, max: 9_000 }),
        nat(),
        (singles, others, count, seed) => {
          const samples = new Samples('number');
          let random = seed;
          for (let index = 0; index < count; index++) {
            random = (random * 48_271 + 11) % 2_147_483_647;
            const other = random % 5_000 === 0 ? others[random % 2] : undefined;
            samples.push(1_700_000_000 + index, other ?? singles[random % singles.length] ?? 0);
          }
          roundTrip(samples);
        },
      ),
      { numRuns: runs(60) },
    );
  });

  test('a block takes for short decimals of 32 bits as many bytes as for the decimals, with noise below 2.6 bytes', () => {
    const sizeOf = (valueOf: (index: number, noise: number) => number): number => {
      const samples = new Samples('number');
      let random = 1;
      for (let index = 0; index < 86_400; index++) {
        random = (random * 48_271) % 2_147_483_647;
        samples.push(1_700_000_000 + index, valueOf(index, random / 2_147_483_647));
      }
      roundTrip(samples);
      return encodeBlock(7, samples, 0, samples.count).length;
    };
    const voltage = (index: number, noise: number): number => 230 + 5 * Math.sin(index / 9_000) + noise;
    const decimals = sizeOf((index, noise) => Math.round(10 * voltage(index, noise)) / 10);
    const singles = sizeOf((index, noise) => Math.fround(Math.round(10 * voltage(index, noise)) / 10));
    const noisy = sizeOf((index, noise) => Math.fround(voltage(index, noise)));
    assert.equal(singles, decimals);
    assert.ok(noisy < 2.6 * 86_400, `${noisy / 86_400} bytes each`);
    const spoiled = sizeOf((index, noise) =>
      index === 40_000 ? Math.PI : Math.fround(Math.round(10 * voltage(index, noise)) / 10),
    );
    assert.ok(spoiled < 1.6 * singles, 'one strange value costs its page');
  });

  test('a block gives back slow signals with noise exactly', () => {
    assertProperty(
      property(
        integer({ min: 1, max: 6 }),
        integer({ min: 0, max: 2_000 }),
        nat(3),
        (seed, noise, decimals) => {
          const samples = new Samples('number');
          let random = seed;
          for (let index = 0; index < 5_000; index++) {
            random = (random * 48_271) % 2_147_483_647;
            const value = Math.round(20_000 + 5_000 * Math.sin(index / 300) + (noise * (random % 100)) / 100);
            samples.push(1_700_000_000 + index, value / 10 ** decimals);
          }
          roundTrip(samples);
        },
      ),
      { numRuns: runs(60) },
    );
  });

  test('a block gives back integers of 64 bits and texts exactly', () => {
    const wide = bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
    assertProperty(
      property(
        array(wide, { minLength: 1 }),
        array(string({ unit: 'grapheme' }), { minLength: 1 }),
        (integers, texts) => {
          const exact = new Samples('number');
          for (const [index, value] of integers.entries()) exact.pushOther(index + 1, value);
          roundTrip(exact);
          const words = new Samples('text');
          for (const [index, text] of texts.entries()) words.pushOther(index + 1, text);
          roundTrip(words);
        },
      ),
    );
  });

  test('a block is refused when one byte is wrong or it belongs to another series', () => {
    const samples = new Samples('number');
    for (let index = 0; index < 500; index++) samples.push(index * 10, Math.sin(index));
    const block = encodeBlock(7, samples, 0, samples.count);
    assert.throws(() => decodeBlock(8, block, new Samples('number')), DamagedBlockError);
    assertProperty(
      property(nat(block.length - 1), integer({ min: 1, max: 255 }), (at, change) => {
        const wrong = Buffer.from(block);
        wrong[at] = (wrong[at] ?? 0) ^ change;
        assert.throws(() => decodeBlock(7, wrong, new Samples('number')), DamagedBlockError);
      }),
    );
  });

  test('a block is refused for any random bytes, never taken and never endless', () => {
    assertProperty(
      property(uint8Array({ maxLength: 200 }), (bytes) => {
        assert.throws(() => decodeBlock(7, Buffer.from(bytes), new Samples('text')), DamagedBlockError);
      }),
    );
  });
});

describe('a part', () => {
  const cellsOf = (cells: Rollup): unknown[] =>
    Array.from({ length: cells.count }, (_, cell) => [
      cells.starts[cell],
      cells.counts[cell],
      cells.minima[cell],
      cells.maxima[cell],
      lastOf(cells, cell),
      cells.exact && [cells.exact.minima[cell], cells.exact.maxima[cell], cells.exact.lasts[cell]],
    ]);
  const dense = array(tuple(constantFrom(1, 1, 1, 2, 90), nat()), { minLength: 400, maxLength: 2_000 });
  const forms = [
    { kind: 'number', values: array(number, { minLength: 1, maxLength: 40 }) },
    { kind: 'number', values: array(bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { minLength: 1 }) },
    { kind: 'boolean', values: array(constantFrom(0, 1), { minLength: 1, maxLength: 40 }) },
  ] as const;

  test('a part has the minute cells of its samples, and its samples as a block has them', () => {
    for (const { kind, values } of forms)
      assertProperty(
        property(dense, values, nat(99), (times, picked, from) => {
          const samples = new Samples(kind);
          let at = 1_700_000_000;
          for (const [step, pick] of times) {
            const value = picked[pick % picked.length] ?? 0;
            if (typeof value === 'bigint') samples.pushOther((at += step), value);
            else samples.push((at += step), value);
          }
          const part = encodePart(7, samples, from, samples.count);
          const expected = new Samples(kind);
          expected.append(samples, samples.times[from]);
          const decoded = new Samples(kind);
          decodeBlock(7, part, decoded);
          assertSame(decoded, expected);
          const cells = rollUp(expected, 60);
          assert.equal(hasCells(part), cells.count * 16 <= expected.count);
          if (hasCells(part)) assert.deepEqual(cellsOf(decodePartCells(7, part)), cellsOf(cells));
        }),
        { numRuns: runs(50) },
      );
  });

  test('a part has no cells of texts, nor of samples that are few in each minute', () => {
    const words = new Samples('text');
    const seldom = new Samples('number');
    for (let index = 0; index < 600; index++) {
      words.pushOther(index, 'auto');
      seldom.push(index * 10, index);
    }
    for (const samples of [words, seldom]) {
      const part = encodePart(7, samples, 0, samples.count);
      assert.equal(hasCells(part), false);
      assert.deepEqual(part, encodeBlock(7, samples, 0, samples.count));
      assert.throws(() => decodePartCells(7, part), DamagedBlockError);
    }
  });

  test('a part with a wrong byte is refused by readers of its samples and of its cells', () => {
    const samples = new Samples('number');
    for (let index = 0; index < 500; index++) samples.push(index, Math.sin(index));
    const part = encodePart(7, samples, 0, samples.count);
    assert.ok(hasCells(part));
    assert.throws(() => decodePartCells(8, part), DamagedBlockError);
    assertProperty(
      property(nat(part.length - 1), integer({ min: 1, max: 255 }), (at, change) => {
        const wrong = Buffer.from(part);
        wrong[at] = (wrong[at] ?? 0) ^ change;
        assert.throws(() => decodeBlock(7, wrong, new Samples('number')), DamagedBlockError);
        assert.throws(() => decodePartCells(7, wrong), DamagedBlockError);
      }),
    );
  });
});

describe('a journal record', () => {
  test('a journal record gives back every value, read alone from a key record on', () => {
    const value = oneof(
      oneof(number, single).map((given): [number, StoredValue] => [0, given]),
      bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })
        .filter((given) => !Number.isSafeInteger(Number(given)))
        .map((given): [number, StoredValue] => [0, given]),
      constantFrom<[number, StoredValue][]>([1, true], [1, false]),
      string().map((given): [number, StoredValue] => [2, given]),
    );
    assertProperty(
      property(array(array(tuple(value, integer({ min: 0, max: 4e9 })), { maxLength: 20 })), (records) => {
        const writer = new BatchWriter({ recordsPerKey: 4 });
        const reader = new BatchReader();
        const codings = (['number', 'boolean', 'text'] as const).map((kind, id) => createCoding(id, kind));
        const found: [number, number, StoredValue][] = [];
        const take = (id: number, at: number, given: StoredValue): void => void found.push([id, at, given]);
        const sink: BatchSink = {
          define: () => undefined,
          drop: () => undefined,
          supersede: () => undefined,
          number: take,
          decimal: (id, at, scaled, power) => take(id, at, scaled / power),
          other: take,
        };
        for (const record of records) {
          for (const [[id, given], at] of record) {
            const coding = codings[id];
            if (coding) writer.sample(coding, at, given);
          }
          const bytes = writer.take();
          if (bytes) assert.equal(reader.read(bytes, sink).isUnderstood, true);
        }
        assert.deepEqual(
          found,
          records
            .flat()
            .map(([[id, given], at]) => [id, at, typeof given === 'boolean' ? Number(given) : given]),
        );
      }),
    );
  });
});

describe('the blob of latest values', () => {
  test('the blob of latest values gives back values of every kind', () => {
    const latest = new Map<number, { timestampS: number; value: StoredValue }>([
      [1, { timestampS: 5, value: 0.1 }],
      [2, { timestampS: 4e9, value: true }],
      [3, { timestampS: 0, value: false }],
      [1_000_000, { timestampS: 7, value: 'ä' }],
      [4, { timestampS: 8, value: -(2n ** 63n) }],
    ]);
    assert.deepEqual(decodeLatest(encodeLatest(latest)), latest);
  });
});
