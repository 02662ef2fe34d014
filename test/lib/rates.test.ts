import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressKey } from '../../src/lib/address.ts';
import { Rates } from '../../src/lib/token-bucket.ts';

describe('rates', () => {
  test('rates have a burst and a rate for one address, independent of others', () => {
    const rates = new Rates({ perSecond: 2, burst: 3 });
    const waits = Array.from({ length: 4 }, () => rates.take('10.0.0.1', 0));
    assert.deepEqual(waits, [0, 0, 0, 500]);
    assert.equal(rates.take('10.0.0.2', 0), 0);
    assert.equal(rates.take('10.0.0.1', 499), 1);
    assert.equal(rates.take('10.0.0.1', 500), 0);
    assert.equal(rates.take('10.0.0.1', 500), 500);
  });

  test('rates count by machine, not by its address within an IPv6 network', () => {
    const rates = new Rates({ perSecond: 1, burst: 2 });
    const waits = Array.from({ length: 4 }, (_, index) => rates.take(addressKey(`2001:db8::${index}`), 0));
    assert.deepEqual(
      waits.map((waitMs) => waitMs === 0),
      [true, true, false, false],
    );
  });

  test('rates hold any number of names, and forget those that owe nothing', () => {
    const rates = new Rates({ perSecond: 1, burst: 1 });
    for (let index = 0; index < 5_000; index++)
      assert.equal(rates.take(`10.0.${index >> 8}.${index & 255}`, index), 0);
    assert.equal(rates.take('10.0.0.0', 5_000), 0);
    assert.notEqual(rates.take('10.0.0.0', 5_000), 0);
    assert.notEqual(rates.take('10.0.19.135', 5_000), 0);
  });
});
