import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spanText } from '../../src/console/site/energy.ts';

test('a duration is written with its two largest units', () => {
  for (const [seconds, text] of [
    [10, '1 min'],
    [240, '4 min'],
    [3_600, '1 h'],
    [7_800, '2 h 10 min'],
    [86_395, '1 d'],
    [86_400 + 60, '1 d'],
    [538 * 3_600 + 46 * 60, '22 d 10 h'],
  ] as const)
    assert.equal(spanText(seconds), text);
});
