import assert from 'node:assert/strict';
import { hostname } from 'node:os';
import { describe, test } from 'node:test';
import { networkNames } from '../../../src/platform/host/index.ts';

describe('the names of this machine', () => {
  test('the names of this machine have no address that needs a zone', () => {
    assert.ok(networkNames(undefined).ips.every((address) => !/^fe[89ab]|%/i.test(address)));
  });

  test('the names of this machine are those of the loopback, of the machine and of multicast DNS', () => {
    const { dns, ips } = networkNames(undefined);
    assert.ok(dns.includes('localhost') && dns.includes(hostname()));
    assert.ok(dns.some((name) => name.endsWith('.local')));
    assert.ok(ips.includes('127.0.0.1'));
  });

  test('the names of this machine have what the operator says, as a name or as an address', () => {
    assert.ok(networkNames('gateway.example').dns.includes('gateway.example'));
    for (const address of ['198.51.100.4', '2001:db8::4']) {
      const { dns, ips } = networkNames(address);
      assert.ok(ips.includes(address) && !dns.includes(address));
    }
  });

  test('the names of this machine have the one on the local network', () => {
    assert.ok(networkNames(undefined, 'energy-gateway.local').dns.includes('energy-gateway.local'));
  });
});
