import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { DoublingPause } from '../../src/lib/doubling-pause.ts';

describe('a doubling pause', () => {
  test('a doubling pause doubles up to its longest and stays there', () => {
    const pause = new DoublingPause({ firstMs: 500, maxMs: 3_000 });
    assert.deepEqual(
      [1, 2, 3, 4, 5].map(() => pause.next()),
      [500, 1_000, 2_000, 3_000, 3_000],
    );
  });

  test('a doubling pause begins again with the shortest after a success', () => {
    const pause = new DoublingPause({ firstMs: 500, maxMs: 3_000 });
    pause.next();
    pause.next();
    pause.reset();
    assert.equal(pause.next(), 500);
  });

  test('a doubling pause begins again with the shortest after a long run', () => {
    const pause = new DoublingPause({ firstMs: 500, maxMs: 3_000 });
    assert.deepEqual(
      [0, 9_999, 10_000, 0].map((ranMs) => pause.nextAfter(ranMs, 10_000)),
      [500, 1_000, 500, 1_000],
    );
  });
});
