/** What a chart shows: its stretch of time, and which points belong together. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { connected, linesOf } from '../../src/console/history/series.ts';
import { RANGES, shifted, stepOf, textOfWindow, windowOf } from '../../src/console/history/window.ts';

const NOW_S = 1_772_400_000;

describe('the stretch of time', () => {
  test('of a range ends now and is live; a stretch of its own stays', () => {
    assert.deepEqual(windowOf('day', NOW_S), { fromS: NOW_S - 86_400, toS: NOW_S, isLive: true });
    assert.deepEqual(windowOf('1000-5000', NOW_S), { fromS: 1_000, toS: 5_000, isLive: false });
  });

  test('is the last hour for what is none', () => {
    for (const text of [undefined, '', 'eon', '5-1', '-', '1e3-1e4'])
      assert.equal(windowOf(text, NOW_S).fromS, NOW_S - 3_600);
  });

  test('moves by its own length, and is live again at the end', () => {
    const before = shifted(windowOf('day', NOW_S), -1, NOW_S);
    assert.equal(before, `${NOW_S - 2 * 86_400}-${NOW_S - 86_400}`);
    assert.equal(shifted(windowOf(before, NOW_S), 1, NOW_S), 'day');
    assert.equal(shifted(windowOf('1000-1500', NOW_S), 1, NOW_S), '1500-2000');
  });

  test('is never shorter than a minute', () => {
    assert.equal(textOfWindow(100.4, 100.6), '100-160');
  });

  test('has as many points as a screen, whatever its length', () => {
    for (const { name } of RANGES) {
      const window = windowOf(name, NOW_S);
      const points = (window.toS - window.fromS) / stepOf(window);
      assert.ok(points <= 500 && points > 100, `${name}: ${points}`);
    }
    assert.ok((NOW_S - 0) / stepOf({ fromS: 0, toS: NOW_S, isLive: false }) <= 500);
  });
});

describe('points', () => {
  test('of a slow device belong together as far as its rhythm reaches, and its real gaps stay gaps', () => {
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

  test('of a fast device are connected to their neighbours only', () => {
    assert.deepEqual(connected([1, 2, null, null, null, 3, 4, 5]), [1, 2, null, null, null, 3, 4, 5]);
  });

  test('before the first and after the last are none', () => {
    assert.deepEqual(connected([null, 1, null]), [null, 1, null]);
    assert.deepEqual(connected([]), []);
  });

  test('come from the column of their device, attribute and aggregation', () => {
    const head = (device: string, aggregation: string): string =>
      `telemetry=power device=${device} aggregation=${aggregation} granularity=10s`;
    const text = `ts,${head('x', 'auto')},${head('y', 'auto')},${head('y', 'max')}\n100,1,2,5\n110,,true,6\n`;
    const lines = linesOf(text, [{ device: 'y', attribute: 'power' }], { fromS: 100, toS: 120, stepS: 10 });
    assert.deepEqual(lines, { timesS: [100, 110], mean: [[2, 1]], least: [[null, null]], most: [[5, 6]] });
  });
});
