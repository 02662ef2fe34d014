import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { array, assert as assertProperty, nat, property, tuple } from 'fast-check';
import { TokenBucket } from '../../src/lib/token-bucket.ts';

function taken(bucket: TokenBucket, nowMs: number, tries: number): number {
  let count = 0;
  for (let i = 0; i < tries; i++) if (bucket.take(nowMs)) count++;
  return count;
}

describe('a token bucket', () => {
  test('a token bucket gives no more than its burst at once', () => {
    assert.equal(taken(new TokenBucket(20, 200, 0), 0, 300), 200);
  });

  test('a token bucket gives the sustained rate afterwards', () => {
    const bucket = new TokenBucket(20, 200, 0);
    taken(bucket, 0, 300);
    assert.equal(taken(bucket, 1_000, 300), 20);
    assert.equal(taken(bucket, 1_025, 300), 0);
    assert.equal(taken(bucket, 1_050, 300), 1);
  });

  test('a token bucket never saves up more than its burst', () => {
    const bucket = new TokenBucket(20, 200, 0);
    taken(bucket, 0, 300);
    assert.equal(taken(bucket, 3_600_000, 300), 200);
  });

  test('a token bucket lends on credit, and tells when it is repaid', () => {
    const bucket = new TokenBucket(10, 5, 0);
    assert.equal(bucket.borrow(0, 5), 0);
    assert.equal(bucket.borrow(0, 2), 200);
    assert.equal(bucket.take(200), false);
    assert.equal(bucket.take(300), true);
  });

  test('a token bucket tells when to come again: then it gives, and not a millisecond before', () => {
    const bucket = new TokenBucket(3, 4, 0);
    taken(bucket, 0, 4);
    const waitMs = bucket.waitMs(0, 2);
    assert.equal(bucket.take(waitMs - 1, 2), false);
    assert.equal(bucket.take(0 + waitMs, 2), true);
    assert.equal(bucket.waitMs(0, 5), Number.POSITIVE_INFINITY);
  });

  test('a token bucket gives in no period more than its burst and its rate', () => {
    assertProperty(
      property(array(tuple(nat(3_000), nat(30)), { maxLength: 60 }), (asks) => {
        const bucket = new TokenBucket(7, 20, 0);
        const given: { atMs: number; count: number }[] = [];
        let nowMs = 0;
        for (const [passMs, tries] of asks) {
          nowMs += passMs;
          given.push({ atMs: nowMs, count: taken(bucket, nowMs, tries) });
        }
        for (const [index, first] of given.entries()) {
          let sum = 0;
          for (const { atMs, count } of given.slice(index)) {
            sum += count;
            assert.ok(
              sum <= 20 + ((atMs - first.atMs) * 7) / 1_000 + 1e-9,
              `${sum} in ${atMs - first.atMs} ms`,
            );
          }
        }
      }),
    );
  });

  test('a token bucket is full again when all is repaid', () => {
    const bucket = new TokenBucket(1, 2, 0);
    bucket.take(0);
    assert.equal(bucket.isFull(999), false);
    assert.equal(bucket.isFull(1_000), true);
  });
});
