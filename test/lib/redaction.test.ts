import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { withoutSecrets } from '../../src/lib/redaction.ts';

/** Every kind of secret that there is on a box, in the forms in which a log or an option could carry it. */
const PLANTED: readonly [kind: string, secret: string, text: string][] = [
  ['a token of ours', 'gw_Zm9vYmFyYmF6cXV4Zm9vYmFy', 'login with gw_Zm9vYmFyYmF6cXV4Zm9vYmFy failed'],
  ['a header', 'abc.def.ghi-123', 'Authorization: Bearer abc.def.ghi-123'],
  ['a header of ours', 'shortone', 'X-Service-Auth-Token: shortone'],
  ['a claim code', '7K2M-Q9XD-0FTB', 'Claim code 7K2M-Q9XD-0FTB'],
  ['a password in JSON', 'hunter 2 "x"', JSON.stringify({ password: 'hunter 2 "x"' })],
  ['a password in a query', 'hunter2', 'GET /x?user=a&password=hunter2&b=1'],
  ['a password in an address', 'hunter2', 'connect mqtt://site:hunter2@10.0.0.1:1883'],
  ['a pre-shared key', 'correcthorse', 'psk=correcthorse'],
  [
    'a private key',
    'MC4CAQAwBQYDK2VwBCIEIA',
    '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END PRIVATE KEY-----',
  ],
  ['half of a private key', 'MC4CAQAwBQ', '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQ'],
  ['a key of an API', 'k3Y', 'api_key: k3Y'],
  ['a cookie', 'v4lue', 'Cookie: v4lue'],
  [
    'a token of somebody else',
    'eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9',
    'got eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9',
  ],
  ['a pin', '4711', 'pin=4711'],
];

describe('a text that leaves the box has lost', () => {
  for (const [kind, secret, text] of PLANTED)
    test(kind, () => {
      const clean = withoutSecrets(text);
      assert.ok(!clean.includes(secret), clean);
      assert.ok(clean.includes('[removed]'));
      // As a line of the log within JSON, too.
      assert.ok(!withoutSecrets(JSON.stringify({ message: text })).includes(secret));
    });

  test('a known secret is removed from a text, however it is written', () => {
    const secret = 'ein "langer" Satz/2';
    for (const text of [secret, JSON.stringify(secret), encodeURIComponent(secret)])
      assert.doesNotMatch(withoutSecrets(`x ${text} y`, [secret]), /langer/);
  });
});

test('details that help to find a fault stay in a text', () => {
  for (const text of [
    '{"level":"warn","message":"history cannot be opened","path":"/var/lib/energy-gateway/history.db","duration_ms":12}',
    'device 3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11 OFFLINE at 2026-03-01T08:00:00.000Z',
    'gateway_http_requests_total{operation="list_tokens",status="200"} 12',
    'SQLITE_CORRUPT: database disk image is malformed',
  ])
    assert.equal(withoutSecrets(text), text);
});
