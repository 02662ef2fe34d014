import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createArrivals } from '../../src/lib/arrivals.ts';

describe('arrivals', () => {
  test('of one address have a burst and a rate, and others do not notice', () => {
    const arrivals = createArrivals({ perSecond: 2, burst: 3 });
    const taken = Array.from({ length: 4 }, () => arrivals.take('10.0.0.1', 0));
    assert.deepEqual(taken, [true, true, true, false]);
    assert.equal(arrivals.take('10.0.0.2', 0), true);
    assert.equal(arrivals.take('10.0.0.1', 499), false);
    assert.equal(arrivals.take('10.0.0.1', 500), true);
    assert.equal(arrivals.take('10.0.0.1', 500), false);
  });

  test('count by machine, not by its address within an IPv6 network', () => {
    const arrivals = createArrivals({ perSecond: 1, burst: 2 });
    const taken = Array.from({ length: 4 }, (_, index) => arrivals.take(`2001:db8::${index}`, 0));
    assert.deepEqual(taken, [true, true, false, false]);
  });

  test('are remembered for any number of addresses, and forgotten when nothing is owed', () => {
    const arrivals = createArrivals({ perSecond: 1, burst: 1 });
    for (let index = 0; index < 5_000; index++)
      assert.equal(arrivals.take(`10.0.${index >> 8}.${index & 255}`, index), true);
    assert.equal(arrivals.take('10.0.0.0', 5_000), true);
    assert.equal(arrivals.take('10.0.0.0', 5_000), false);
    assert.equal(arrivals.take('10.0.19.135', 5_000), false);
  });
});
