/** What a chart shows: its stretch of time, and which points belong together. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { aggregationsOf, connected, linesOf, withLinesBefore } from '../../src/console/history/series.ts';
import {
  RANGES,
  shifted,
  stepOf,
  stretchOf,
  textOfWindow,
  turned,
  windowOf,
  withBefore,
  zoomed,
} from '../../src/console/history/window.ts';
import { edgesOf, periodAt, periodLater, periodText, unitOf } from '../../src/console/period.ts';

const NOW_S = 1_772_400_000;

test('minimum and maximum are read only where they are drawn: of numbers, and of few lines', () => {
  assert.deepEqual(aggregationsOf(6, true), ['auto', 'min', 'max']);
  assert.deepEqual(aggregationsOf(7, true), ['auto']);
  assert.deepEqual(aggregationsOf(1, false), ['auto']);
});

describe('the stretch of time', () => {
  test('the period is one of the calendar, live while the present is in it; a fixed range stays', () => {
    assert.deepEqual(windowOf('day', NOW_S, 'Europe/Berlin'), {
      fromS: Date.parse('2026-02-28T23:00Z') / 1_000,
      toS: Date.parse('2026-03-01T23:00Z') / 1_000,
      beforeS: Date.parse('2026-02-27T23:00Z') / 1_000,
      period: '2026-03-01',
      isLive: true,
      isCompared: false,
    });
    assert.deepEqual(windowOf('2026-02+before', NOW_S, 'UTC'), {
      fromS: Date.parse('2026-02-01') / 1_000,
      toS: Date.parse('2026-03-01') / 1_000,
      beforeS: Date.parse('2026-01-01') / 1_000,
      period: '2026-02',
      isLive: false,
      isCompared: true,
    });
    assert.deepEqual(windowOf('1000-5000+before', NOW_S, 'UTC'), {
      fromS: 1_000,
      toS: 5_000,
      beforeS: -3_000,
      isLive: false,
      isCompared: true,
    });
  });

  test('the period is the last hour for any other text', () => {
    for (const text of [undefined, '', 'eon', '5-1', '-', '1e3-1e4', '2026-13'])
      assert.equal(windowOf(text, NOW_S, 'UTC').fromS, NOW_S - 3_600);
  });

  test('the period begins no earlier than 1970, where a clock that is not set is', () => {
    for (const name of RANGES) assert.ok(windowOf(name, 120.5, 'Europe/Berlin').fromS >= 0, name);
  });

  test('the period moves by its own length, and is named without a date again at the present', () => {
    const before = shifted(windowOf('day', NOW_S, 'UTC'), -1, NOW_S, 'UTC');
    assert.equal(before, '2026-02-28');
    assert.equal(shifted(windowOf(before, NOW_S, 'UTC'), 1, NOW_S, 'UTC'), 'day');
    assert.equal(shifted(windowOf('2026-01', NOW_S, 'UTC'), 1, NOW_S, 'UTC'), '2026-02');
    assert.equal(shifted(windowOf('1000-1500', NOW_S, 'UTC'), 1, NOW_S, 'UTC'), '1500-2000');
    const hour = shifted(windowOf('hour', NOW_S, 'UTC'), -1, NOW_S, 'UTC');
    assert.equal(shifted(windowOf(hour, NOW_S, 'UTC'), 1, NOW_S, 'UTC'), 'hour');
  });

  test('the period turns to the calendar period in which it begins, or to the present one if that is shown', () => {
    const turn = (text: string, range: (typeof RANGES)[number]): string =>
      turned(windowOf(text, NOW_S, 'UTC'), range, NOW_S, 'UTC');
    assert.equal(turn('2026-01', 'day'), '2026-01-01');
    assert.equal(turn('2026-01', 'year'), 'year');
    assert.equal(turn('week', 'day'), 'day');
    assert.equal(turn('2026-01', 'hour'), 'hour');
  });

  test('the period is zoomed around its middle, or at its end if that is about now', () => {
    assert.equal(zoomed(windowOf('1000-2000', NOW_S, 'UTC'), 0.5, NOW_S), '1250-1750');
    assert.equal(zoomed(windowOf('1000-2000', NOW_S, 'UTC'), 2, NOW_S), '500-2500');
    const half = zoomed(windowOf('hour', NOW_S, 'UTC'), 0.5, NOW_S);
    assert.equal(half, `${NOW_S - 1_800}-${NOW_S}`);
    assert.equal(zoomed(windowOf(half, NOW_S, 'UTC'), 0.5, NOW_S + 20), `${NOW_S - 880}-${NOW_S + 20}`);
  });

  test('the period is never shorter than a minute', () => {
    assert.equal(textOfWindow(100.4, 100.6), '100-160');
  });

  test('the period has as many points as a screen, whatever its length', () => {
    for (const name of RANGES) {
      const window = windowOf(name, NOW_S, 'UTC');
      const points = (window.toS - window.fromS) / stepOf(window);
      assert.ok(points <= 500 && points > 100, `${name}: ${points}`);
    }
    assert.ok((NOW_S - 0) / stepOf(windowOf(`0-${NOW_S}`, NOW_S, 'UTC')) <= 500);
  });
});

describe('a day, a month or a year', () => {
  test('a text that only looks like a day, a month or a year is none', () => {
    for (const text of [undefined, '', '20', '2026-13', '2026-1', '2026-11-99', 'hour'])
      assert.equal(unitOf(text), undefined, String(text));
    assert.deepEqual(['2026-11-22', '2026-11', '2026'].map(unitOf), ['day', 'month', 'year']);
  });

  test('a day, a month or a year follows another over the ends of months and years', () => {
    assert.equal(periodLater('2026-03-01', -1), '2026-02-28');
    assert.equal(periodLater('2026-01', -1), '2025-12');
    assert.equal(periodLater('2026', 1), '2027');
  });

  test('a day, a month or a year is that of the zone, and begins and ends with its days, whatever its clocks do', () => {
    const atMs = Date.parse('2026-03-28T23:30:00Z');
    assert.equal(periodAt('day', atMs, 'Europe/Berlin'), '2026-03-29');
    assert.equal(periodAt('month', atMs, 'UTC'), '2026-03');
    assert.equal(periodText('2026-03'), 'March 2026');
    for (const zone of ['UTC', 'Europe/Berlin', 'Pacific/Kiritimati', 'Pacific/Pago_Pago', 'Africa/Cairo'])
      for (const [period, first, next] of [
        ['2026-03-29', '2026-03-29', '2026-03-30'],
        ['2026-04-24', '2026-04-24', '2026-04-25'],
        ['2026-02', '2026-02-01', '2026-03-01'],
        ['2024', '2024-01-01', '2025-01-01'],
      ] as const) {
        const edges = edgesOf(period, zone);
        assert.deepEqual(
          edges.map((edgeMs) => periodAt('day', edgeMs, zone)),
          [first, next],
          zone,
        );
        assert.ok(periodAt('day', edges[0] - 1, zone) < first, zone);
        assert.ok(periodAt('day', edges[1] - 1, zone) < next, zone);
      }
    const [fromMs, toMs] = edgesOf('2026-03-29', 'Europe/Berlin');
    assert.equal(toMs - fromMs, 23 * 3_600_000);
  });
});

describe('points', () => {
  test('points of the period before are drawn at the times of the present one, without a band', () => {
    const lines = { timesS: [10, 20], mean: [[1, 2]], least: [[0, 1]], most: [[2, 3]] };
    const before = { timesS: [-10, 0, 10], mean: [[7, undefined, 9]], least: [[6, 6, 6]], most: [[8, 8, 8]] };
    assert.deepEqual(withLinesBefore(lines, before), {
      timesS: [10, 20],
      mean: [
        [1, 2],
        [7, undefined],
      ],
      least: [
        [0, 1],
        [null, null],
      ],
      most: [
        [2, 3],
        [null, null],
      ],
    });
    assert.equal(withBefore(stretchOf('day+before'), true), 'day+before');
  });

  test('points are connected within the rhythm of a slow device, and its real gaps stay gaps', () => {
    const [a, b, c] = [1, 2, 3];
    assert.deepEqual(
      connected([a, null, null, b, null, null, c, null, null, null, null, null, null, null, null, a]),
      [
        a,
        undefined,
        undefined,
        b,
        undefined,
        undefined,
        c,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        null,
        a,
      ],
    );
  });

  test('points of a fast device are connected to their neighbours only', () => {
    assert.deepEqual(connected([1, 2, null, null, null, 3, 4, 5]), [1, 2, null, null, null, 3, 4, 5]);
  });

  test('no points are drawn before the first and after the last', () => {
    assert.deepEqual(connected([null, 1, null]), [null, 1, null]);
    assert.deepEqual(connected([]), []);
  });

  test('points come from the column of their device, attribute and aggregation', () => {
    const head = (device: string, aggregation: string): string =>
      `telemetry=power device=${device} aggregation=${aggregation} granularity=10s`;
    const text = `ts,${head('x', 'auto')},${head('y', 'auto')},${head('y', 'max')}\n100,1,2,5\n110,,true,6\n`;
    const lines = linesOf(text, [{ device: 'y', attribute: 'power' }], { fromS: 100, toS: 120, stepS: 10 });
    assert.deepEqual(lines, { timesS: [100, 110], mean: [[2, 1]], least: [[null, null]], most: [[5, 6]] });
  });
});
