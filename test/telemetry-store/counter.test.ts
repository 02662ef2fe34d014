/** What a counter counted, when its readings are those that real counters give. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { amountMinutes, CELL } from '../../src/telemetry-store/query/amounts.ts';
import { Counter, RETURN_S } from '../../src/telemetry-store/query/counter.ts';
import { rollUp } from '../../src/telemetry-store/codec/rollup.ts';
import { Samples } from '../../src/telemetry-store/codec/samples.ts';
import type { SampleSource } from '../../src/telemetry-store/query/column-cursor.ts';
import { chance, runs } from '../support/runs.ts';

type Readings = readonly (readonly [timeS: number, value: number])[];

/** 10 MW on a counter of kWh. */
const RATE_MAX = 10_000 / 3_600;
const HOUR = 3_600;

function counted(readings: Readings): number {
  let sum = 0;
  const counter = new Counter({ reachS: 6 * HOUR, rateMax: RATE_MAX }, (fromS, toS, amount) => {
    assert.ok(toS > fromS && amount >= 0);
    sum += amount;
  });
  for (const [timeS, value] of readings) counter.take(timeS, value);
  counter.expire((readings.at(-1)?.[0] ?? 0) + 2 * RETURN_S);
  counter.end();
  return sum;
}

/** A reading each minute. */
const minutely = (...values: number[]): Readings => values.map((value, minute) => [minute * 60, value]);

describe('a counter', () => {
  const rows: [what: string, readings: Readings, amount: number][] = [
    ['counts what it rises', minutely(9_000, 9_001, 9_001, 9_003), 3],
    ['counts nothing when it reads 0 for a moment', minutely(9_000, 0, 9_000), 0],
    ['counts the difference when it reads 0 for a moment', minutely(9_000, 0, 0, 9_002), 2],
    ['counts the difference when it climbs a little before it is back', minutely(9_000, 0, 0.1, 0.3, 9_002), 2],
    ['counts the difference when it reads 0 again and again', minutely(9_000, 0, 9_001, 0, 0, 9_002, 0, 9_003), 3],
    ['counts the difference after a night of zeros', [[0, 9_000], [600, 0], [7 * HOUR, 0], [15 * HOUR, 9_004]], 4],
    ['counts the difference when it was silent and begins with 0', [[0, 900], [12 * HOUR, 0], [12 * HOUR + 60, 901]], 1],
    ['counts nothing twice when it goes on from a saved value', minutely(1_000, 1_010, 1_000, 1_005, 1_010, 1_012), 12],
    ['counts nothing twice when it reads 0 and then a saved value', minutely(9_000, 9_010, 0, 9_005, 9_006, 9_012), 12],
    ['counts nothing for a jitter of one', minutely(500, 499, 500, 499, 500, 501, 501, 500, 501), 1],
    ['counts nothing for a single reading that is too high', minutely(500, 560, 501, 502), 2],
    ['counts nothing for a single reading that is far too high', minutely(500, 4_294_967, 501, 502), 2],
    ['counts nothing of what it had before its first reading that is not 0', minutely(0, 0, 9_000, 9_001), 1],
    ['counts the difference after a week of zeros', [[0, 9_000], [600, 0], ...Array.from({ length: 28 }, (_, n) => [(n + 1) * 6 * HOUR, 0] as const), [168 * HOUR + 60, 9_004], [168 * HOUR + 120, 9_005]], 5],
    ['counts on from a reset after a week of zeros', [[0, 9_000], [600, 0], ...Array.from({ length: 28 }, (_, n) => [(n + 1) * 6 * HOUR, 0] as const), [168 * HOUR + 60, 1], [168 * HOUR + 120, 3]], 3],
    ['counts on from a reset', minutely(9_000, 9_001, 0, 1, 3, 4), 5],
    ['counts a moment of 0 after a reset once', minutely(9_000, 0, 20, 40, 60, 0, 61), 61],
    ['counts on after 16 bits ran over', minutely(65_530, 65_534, 2, 6, 12), 14],
    ['counts on after 32 bits ran over', minutely(4_294_967_290, 4_294_967_294, 3, 6), 7],
    ['counts on from below zero after 31 bits ran over', minutely(2_147_483_640, 2_147_483_646, -2_147_483_640, -2_147_483_638), 8],
    ['counts on at another value from a new device', [[0, 9_000], [60, 5_000], [120, 5_001], [30 * HOUR, 5_002], [30 * HOUR + 60, 5_004]], 3],
    ['counts nothing for a change from Wh to kWh and back', minutely(9_000_000, 9_000, 9_001, 9_000_010), 10],
    ['counts a step after an hour at one value', [...minutely(...Array.from({ length: 60 }, () => 7_000)), [3_541, 7_010]], 10],
  ]; // prettier-ignore
  for (const [what, readings, amount] of rows)
    test(what, () => {
      assert.ok(Math.abs(counted(readings) - amount) < 1e-9, String(counted(readings)));
    });
});

/** One stretch of readings: the device produces, and something happens to what it reports. */
const FAULTS = [
  'none',
  'zeros',
  'sleep',
  'saved',
  'zero and saved',
  'jitter',
  'spike',
  'silence',
  'reset',
] as const;
type Fault = (typeof FAULTS)[number];
const stretch = fc.record({
  fault: fc.constantFrom(...FAULTS),
  length: fc.integer({ min: 3, max: 20 }),
  perMinute: fc.double({ min: 0, max: 0.5, noNaN: true }),
  faulty: fc.integer({ min: 1, max: 10 }),
});
type Stretch = typeof stretch extends fc.Arbitrary<infer Value> ? Value : never;

/** Readings each minute, what was produced, and how much of it nobody can know from them. */
function simulate(stretches: readonly Stretch[]): { readings: Readings; produced: number; unknown: number } {
  const readings: [number, number][] = [];
  let minute = 0;
  let produced = 0;
  let unknown = 0;
  let offset = 5_000;
  const value = (): number => produced + offset;
  const run = (minutes: number, perMinute: number, read: (() => number) | undefined): void => {
    for (let count = 0; count < minutes; count++) {
      minute++;
      produced += perMinute;
      if (read) readings.push([minute * 60, read()]);
    }
  };
  readings.push([0, value()]);
  for (const { fault, length, perMinute, faulty } of stretches) {
    run(length, perMinute, value);
    const saved = value() - faulty;
    const lost = (most: number): number => (unknown += most);
    const byFault: Record<Fault, () => void> = {
      none: () => undefined,
      zeros: () => run(faulty, perMinute, () => 0),
      sleep: () => run(faulty * 60, 0, () => 0),
      jitter: () => run(1, perMinute, () => value() - 1),
      spike: () => run(1, perMinute, () => value() + faulty * 20),
      silence: () => run(faulty * 30, perMinute, undefined),
      saved: () => {
        offset = saved - produced;
        lost(faulty);
      },
      'zero and saved': () => {
        run(2, perMinute, () => 0);
        offset = saved - produced;
        lost(faulty + 2 * perMinute);
      },
      reset: () => {
        offset = -produced;
        // The step to the first reading after it, and what a later fall can hide of the little that was counted since.
        lost(2 * perMinute + 0.5);
      },
    };
    byFault[fault]();
    run(3, perMinute, value);
  }
  return { readings, produced, unknown };
}

/** The wrong reading, which ends a fall of before, is the second one behind a cut after 252 minutes. */
const SPIKE_AFTER_SAVED: Stretch[] = [
  { fault: 'none', length: 213, perMinute: 0, faulty: 1 },
  { fault: 'zero and saved', length: 14, perMinute: 0, faulty: 1 },
  { fault: 'spike', length: 17, perMinute: 0, faulty: 1 },
];

describe('a counter with any of these faults, one after another', () => {
  test('a counter with any of these faults never counts more than was produced, and no less than its readings prove', () => {
    fc.assert(
      fc.property(fc.array(stretch, { maxLength: 8 }), (stretches) => {
        // What a reset hides: between a reset and a value beyond the faults nobody can tell the one from the other.
        const resets = stretches.findIndex(({ fault }) => fault === 'reset');
        const told = resets < 0 ? stretches : stretches.slice(0, resets + 1);
        const { readings, produced, unknown } = simulate(told);
        const sum = counted(readings);
        assert.ok(sum <= produced + 1e-6, `${sum} of ${produced}`);
        assert.ok(sum >= produced - unknown - 1e-6, `${sum} of ${produced}, ${unknown} unknown`);
      }),
      { numRuns: runs(2_000) },
    );
  });

  const storeOf = (readings: Readings, rolledUpToS: number): SampleSource => {
    const samples = new Samples('number');
    for (const [timeS, value] of readings) samples.push(timeS, value);
    const placed = (index: number) =>
      index < 0 || index >= samples.count
        ? undefined
        : { timestampS: samples.times[index] as number, value: samples.numbers[index] as number };
    return {
      last: (_id, fromS, toS) => {
        const found = placed(samples.indexFrom(toS) - 1);
        return found && found.timestampS >= fromS ? found : undefined;
      },
      first: (_id, fromS, toS) => {
        const found = placed(samples.indexFrom(fromS));
        return found && found.timestampS < toS ? found : undefined;
      },
      visit: (_id, fromS, toS, _granularityS, visitor) => {
        const middle = samples.indexFrom(Math.max(fromS, Math.min(toS, rolledUpToS)));
        for (let index = samples.indexFrom(fromS); index < middle; index++) {
          const one = new Samples('number');
          one.push(samples.times[index] as number, samples.numbers[index] as number);
          visitor.cells(rollUp(one, 60), 0, 1, 60);
        }
        visitor.samples(samples, middle, samples.indexFrom(toS));
      },
      nextData: (_id, fromS, toS) => Math.min(toS, placed(samples.indexFrom(fromS))?.timestampS ?? toS),
    };
  };
  const sumOf = (readings: Readings, fromS: number, toS: number, rolledUpToS = 0): number => {
    const source = storeOf(readings, rolledUpToS);
    const amounts = [{ seriesId: 1, kind: 'increase', rateMax: RATE_MAX } as const];
    const plan = { fromS, toS, gapS: 300, bridgeS: 6 * HOUR, amounts };
    let sum = 0;
    for (const piece of amountMinutes(plan, { ...source, asOfNow: () => source }))
      for (let place = CELL.above; place < (piece?.cells.length ?? 0); place += CELL.length)
        sum += piece?.cells[place] ?? 0;
    return sum;
  };

  test('a counter counts the same however the time is cut, and whether days are rolled up or not', () => {
    fc.assert(
      fc.property(
        fc.array(stretch, { maxLength: 12 }),
        fc.integer({ min: 1, max: 4_000 }),
        (stretches, cut) => {
          const { readings } = simulate(stretches);
          const endS = (readings.at(-1)?.[0] ?? 0) + 60;
          const toS = Math.max(endS, (cut + 1) * 60) + 20 * HOUR - ((endS + 20 * HOUR) % 60);
          const whole = sumOf(readings, 0, toS - (toS % 60));
          const parts = sumOf(readings, 0, cut * 60) + sumOf(readings, cut * 60, toS - (toS % 60));
          assert.ok(Math.abs(whole - parts) < 1e-6, `${whole} whole, ${parts} in parts`);
          const rolledUp = sumOf(readings, 0, toS - (toS % 60), endS);
          assert.ok(Math.abs(whole - rolledUp) < 1e-6, `${whole} of samples, ${rolledUp} of cells`);
        },
      ),
      { numRuns: runs(500), ...chance(), examples: [[SPIKE_AFTER_SAVED, 252]] },
    );
  });
});
