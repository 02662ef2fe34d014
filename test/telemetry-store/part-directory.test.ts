/** Where parts are: in memory as a plain list of them says. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  array,
  assert as assertProperty,
  boolean,
  constant,
  integer,
  nat,
  oneof,
  property,
  record,
  uniqueArray,
} from 'fast-check';
import {
  encodeDirectory,
  PartDirectory,
  type PartRef,
} from '../../src/telemetry-store/engine/part-directory.ts';

const DAY_S = 86_400;
const FIRST_DAY = 20_000;

const part = record({
  seriesId: integer({ min: 1, max: 6 }),
  day: integer({ min: FIRST_DAY, max: FIRST_DAY + 3 }),
  atS: nat(DAY_S - 1),
  lengthS: oneof(constant(0), nat(DAY_S)),
});
const sealing = uniqueArray(part, {
  selector: ({ seriesId, day }) => `${seriesId} ${day}`,
  minLength: 1,
  maxLength: 12,
});

test('the directory of parts finds what a plain list finds, also after removals', () => {
  assertProperty(
    property(array(sealing, { maxLength: 6 }), array(boolean()), nat(1_000), (sealings, removed, ids) => {
      const directory = new PartDirectory();
      let all: PartRef[] = [];
      let nextId = ids * 2 ** 32;
      for (const parts of sealings) {
        const ordered = parts.toSorted((a, b) => a.seriesId - b.seriesId);
        const refs = ordered.map(({ seriesId, day, atS, lengthS }) => {
          const firstS = day * DAY_S + atS;
          return {
            id: nextId++,
            seriesId,
            day,
            firstS,
            lastS: Math.min(firstS + lengthS, (day + 1) * DAY_S - 1),
          };
        });
        directory.add(encodeDirectory(refs));
        all.push(...refs);
        assert.equal(directory.endId, nextId);
      }
      const gone = new Set(all.filter((_, index) => removed[index] === true).map(({ id }) => id));
      for (const seriesId of new Set(all.map((each) => each.seriesId))) directory.remove(seriesId, gone);
      all = all.filter(({ id }) => !gone.has(id));
      compare(directory, all);
    }),
  );
});

function compare(directory: PartDirectory, all: readonly PartRef[]): void {
  const by = (matches: (ref: PartRef) => boolean): number[] =>
    all.flatMap((ref) => (matches(ref) ? [ref.id] : [])).sort((a, b) => a - b);
  const ids = (refs: readonly PartRef[]): number[] => refs.map(({ id }) => id).sort((a, b) => a - b);
  for (const ref of all) {
    const { seriesId, day, firstS, lastS } = ref;
    assert.deepEqual(
      directory.ofSeries(seriesId).find(({ id }) => id === ref.id),
      ref,
    );
    assert.deepEqual(
      ids(directory.ofSeries(seriesId)),
      by((each) => each.seriesId === seriesId),
    );
    assert.deepEqual(
      ids(directory.ofDay(seriesId, day)),
      by((each) => each.seriesId === seriesId && each.day === day),
    );
    for (const [fromS, toS] of [
      [firstS, lastS + 1],
      [lastS, lastS + DAY_S],
      [lastS + 1, lastS + DAY_S],
      [0, firstS],
    ] as const)
      assert.deepEqual(
        ids(directory.within(seriesId, fromS, toS)),
        by((each) => each.seriesId === seriesId && each.firstS < toS && each.lastS >= fromS),
      );
    assert.ok(directory.leastId() <= ref.id);
  }
  if (all.length === 0) assert.equal(directory.leastId(), Number.POSITIVE_INFINITY);
  assert.deepEqual(new Set(directory.seriesIds()), new Set(all.map(({ seriesId }) => seriesId)));
  for (let beforeDay = FIRST_DAY; beforeDay <= FIRST_DAY + 4; beforeDay++) {
    const expected = new Map<number, Set<number>>();
    for (const { day, seriesId } of all)
      if (day < beforeDay) expected.set(day, (expected.get(day) ?? new Set()).add(seriesId));
    assert.deepEqual(directory.daysBefore(beforeDay), expected);
  }
}

test('parts of one sealing and series come in order of sealing', () => {
  const directory = new PartDirectory();
  for (const id of [1, 3, 5])
    directory.add(
      encodeDirectory(
        [1, 2].map((seriesId, at) => ({ id: id + at, seriesId, day: 0, firstS: 9 - id, lastS: 9 })),
      ),
    );
  assert.deepEqual(
    directory.ofDay(1, 0).map(({ id }) => id),
    [1, 3, 5],
  );
});

test('a file that is no directory of parts is refused, and none stays open', () => {
  const directory = new PartDirectory();
  const whole = encodeDirectory([{ id: 1, seriesId: 1, day: 0, firstS: 5, lastS: 9 }]);
  const claimsMore = Uint8Array.from(whole);
  claimsMore[0] = 100;
  for (const bytes of [whole.subarray(0, 3), Buffer.from(claimsMore), Buffer.alloc(0)])
    assert.throws(() => directory.add(bytes), RangeError);
  assert.equal(directory.endId, 0);
  assert.deepEqual(directory.ofSeries(1), []);
});
