import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isLocalHost } from '../../../src/platform/http/callers.ts';
import { serve } from './support.ts';

const OWN = ['gateway.works.example'];
const ANONYMOUS = {
  role: 'READONLY' as const,
  origin: { kind: 'anonymous' as const, id: 'anonymous', name: 'anonymous' },
  rateKey: 'anonymous',
};

describe('a host is foreign', () => {
  for (const host of [
    'attacker.example',
    'localhost.attacker.example',
    '192.168.1.10.attacker.example',
    'gateway.works.example.attacker.example',
  ])
    test(`a host is foreign when it is ${host}`, () => assert.equal(isLocalHost(host, OWN), false));
});

describe('a host is one of ours', () => {
  for (const host of [
    '192.168.1.10',
    'fd00::1',
    'fe80::1%eth0',
    'localhost',
    'gateway',
    'Gateway.local',
    'gateway.local.',
    'energy.home.arpa',
    'energy.lan',
    'energy.site.internal',
    'GATEWAY.works.example',
  ])
    test(`a host is one of ours when it is ${host}`, () => assert.equal(isLocalHost(host, OWN), true));
});

describe('a page that let its name lead here', () => {
  test('a page that points its DNS name here does not get the role of callers without a token', async (t) => {
    const { ask, origin, http } = await serve(t, { anonymous: ANONYMOUS, ownNames: () => OWN });
    for (const host of ['attacker.example', 'attacker.example:8080']) {
      const request = new Request(`${origin}/v3/things/slug`, { headers: { Host: host } });
      const answer = await http.fetch(request);
      assert.equal(answer.status, 401, host);
    }
    for (const host of ['192.168.1.10:8080', '[fd00::1]:8080', 'gateway.local', OWN[0] ?? '']) {
      const request = new Request(`${origin}/v3/things/slug`, { headers: { Host: host } });
      assert.equal((await http.fetch(request)).status, 200, host);
    }
    assert.equal((await ask('GET', '/v3/things/slug', { token: null })).status, 200);
  });

  test('a caller with a token is served by every name', async (t) => {
    const { origin, http } = await serve(t, { anonymous: ANONYMOUS });
    const headers = { Host: 'gateway.works.example', 'X-Service-Auth-Token': 'owner' };
    assert.equal((await http.fetch(new Request(`${origin}/v3/things/slug`, { headers }))).status, 200);
  });
});
