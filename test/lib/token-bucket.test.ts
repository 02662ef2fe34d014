import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createTokenBucket } from '../../src/lib/token-bucket.ts';

function taken(bucket: ReturnType<typeof createTokenBucket>, nowMs: number, tries: number): number {
  let count = 0;
  for (let i = 0; i < tries; i++) if (bucket.take(nowMs)) count++;
  return count;
}

describe('createTokenBucket', () => {
  test('gives no more than its burst at once', () => {
    assert.equal(taken(createTokenBucket(20, 200, 0), 0, 300), 200);
  });

  test('gives the sustained rate afterwards', () => {
    const bucket = createTokenBucket(20, 200, 0);
    taken(bucket, 0, 300);
    assert.equal(taken(bucket, 1_000, 300), 20);
    assert.equal(taken(bucket, 1_025, 300), 0);
    assert.equal(taken(bucket, 1_050, 300), 1);
  });

  test('never saves up more than its burst', () => {
    const bucket = createTokenBucket(20, 200, 0);
    taken(bucket, 0, 300);
    assert.equal(taken(bucket, 3_600_000, 300), 200);
  });
});
