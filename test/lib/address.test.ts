import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addressKey,
  hostInUrl,
  hostOf,
  isAnyAddress,
  leadingZeros,
  localAddress,
  plainAddress,
  plainUrl,
} from '../../src/lib/address.ts';

test('an IPv4 address with leading zeros is refused in every spelling, and no other host is', () => {
  for (const url of [
    'http://192.168.001.020/x',
    'HTTP://me@010.0.0.1:80',
    'tcp://0x7f.0.0.1',
    'sftp://a@10.0.0.07/b',
  ])
    assert.match(leadingZeros(hostOf(url) ?? '') ?? '', /leading zeros/, url);
  for (const url of ['http://192.168.0.20/', 'http://0.0.0.0', 'http://007.example/', 'http://[::01]/'])
    assert.equal(leadingZeros(hostOf(url) ?? ''), undefined, url);
  assert.equal(plainUrl('http://192.168.001.020/', 'http:'), undefined);
});

describe('addresses', () => {
  test('addresses count as one when one machine can choose between them', () => {
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

  test('addresses look the same for IPv4 on a socket of both families', () => {
    for (const [address, plain] of [
      ['::ffff:192.0.2.7', '192.0.2.7'],
      ['::FFFF:192.0.2.7', '192.0.2.7'],
      ['192.0.2.7', '192.0.2.7'],
      ['2001:db8::ffff:7', '2001:db8::ffff:7'],
      ['::1', '::1'],
      ['unknown', 'unknown'],
    ] as const)
      assert.equal(plainAddress(address), plain);
  });

  test('addresses stand in brackets in a URL, where they are of IPv6', () => {
    assert.deepEqual(['::1', '192.0.2.7', 'gateway.local'].map(hostInUrl), [
      '[::1]',
      '192.0.2.7',
      'gateway.local',
    ]);
  });

  test('addresses are reached at the loopback when they stand for all of the machine', () => {
    for (const host of ['0.0.0.0', '::', '::0', '0:0:0:0:0:0:0:0', '0'])
      assert.deepEqual([isAnyAddress(host), localAddress(host)], [true, '127.0.0.1'], host);
    for (const host of ['127.0.0.1', '::1', '10.0.0.0', 'fd00::', 'localhost', ''])
      assert.deepEqual([isAnyAddress(host), localAddress(host)], [false, host], host);
  });
});
