/** Which hosts a search may ask. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { hostsToSearch } from '../../../src/capabilities/device-search/networks.ts';
import { LIMITS } from '../../../src/lib/limits.ts';

const OWN = [
  { address: '127.0.0.1', prefix: 8, isLoopback: true },
  { address: '192.168.1.5', prefix: 24, isLoopback: false },
  { address: '172.17.3.1', prefix: 16, isLoopback: false },
];
const search = (asked?: string[], own = OWN) => hostsToSearch(own, asked, LIMITS.deviceSearch);

describe('a search', () => {
  test('a search refuses networks that are not of the gateway, are no networks, or have too many addresses', () => {
    for (const [asked, sentence] of [
      ['192.168.2.0/24', /must be part of a network of the gateway: .*192\.168\.1\.0\/24/],
      ['192.168.0.0/16', /must be part of a network/],
      ['0.0.0.0/0', /must be part of a network/],
      ['8.8.8.8', /must be part of a network/],
      ['192.168.1.300/24', /must be such as 192\.168\.1\.0\/24/],
      ['192.168.1.0/33', /must be such as/],
      ['192.168.1.0/', /must be such as/],
      ['router.local', /must be such as/],
      ['', /must be such as/],
      ['172.17.0.0/16', /more than 1024 addresses/],
    ] as const)
      assert.throws(() => search([asked]), sentence, asked);
  });

  test("a search asks every other host of the gateway's networks, and not the loopback", () => {
    const { hosts, from } = search();
    assert.deepEqual([hosts.length, from], [253 + 253, ['192.168.1.5', '172.17.3.1']]);
    assert.deepEqual([hosts[0], hosts[252], hosts[253]], ['192.168.1.1', '192.168.1.254', '172.17.3.2']);
    assert.ok(!hosts.includes('192.168.1.5') && !hosts.some((host) => host.startsWith('127.')));
    assert.deepEqual(search(undefined, OWN.slice(0, 1)), { hosts: [], from: [] });
  });

  test('a search asks a part of a network, one host, or the loopback where it is named', () => {
    assert.deepEqual(search(['192.168.1.20']).hosts, ['192.168.1.20']);
    assert.deepEqual(search(['192.168.1.6/30']).hosts, ['192.168.1.6']);
    assert.deepEqual(search(['127.0.0.1/32', '127.0.0.2/31']), {
      hosts: ['127.0.0.1', '127.0.0.2', '127.0.0.3'],
      from: ['127.0.0.1'],
    });
  });

  test('a search asks as many addresses as it may', () => {
    assert.equal(search(['172.17.0.0/22']).hosts.length, LIMITS.deviceSearch.hosts - 3);
    assert.throws(() => search(['172.17.0.0/22', '192.168.1.0/29']), /more than 1024/);
  });
});
