import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RepeatFilter } from '../../../src/scripting/host/index.ts';

describe('a text that was said', () => {
  test('a repeated text is reported again after a while, and no sooner', () => {
    const told = new RepeatFilter({ intervalMs: 60_000, most: 10 });
    const news = [0, 1, 59_999, 60_000, 60_001].map((nowMs) => told.isNews('no answer', nowMs));
    assert.deepEqual(news, [true, false, false, true, false]);
  });

  test('a repeated text is forgotten sooner when too many others came since', () => {
    const told = new RepeatFilter({ intervalMs: 60_000, most: 3 });
    for (const text of ['a', 'b', 'c']) assert.equal(told.isNews(text, 0), true);
    assert.equal(told.isNews('a', 1), false);
    assert.equal(told.isNews('d', 2), true);
    assert.deepEqual(
      ['b', 'c', 'd', 'a'].map((text) => told.isNews(text, 3)),
      [false, false, false, true],
    );
  });
});
