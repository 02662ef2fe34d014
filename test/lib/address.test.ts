import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { addressKey } from '../../src/lib/address.ts';

describe('addresses', () => {
  test('count as one when one machine can choose between them', () => {
    for (const [address, key] of [
      [undefined, 'unknown'],
      ['192.0.2.7', '192.0.2.7'],
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
      ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
      ['2001:db8::9', '2001:db8:0:0::/64'],
      ['fe80::1%eth0', 'fe80:0:0:0::/64'],
      ['::1', '0:0:0:0::/64'],
      ['::', '0:0:0:0::/64'],
      ['1::', '1:0:0:0::/64'],
    ] as const)
      assert.equal(addressKey(address), key);
  });
});
