/** Bodies in encodings that the gateway does not read (docs/interface/http.md#requests). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { refusal, useTestGateway } from '../support/test-gateway.ts';

const gateway = useTestGateway();
const PATH = '/v3/site';
const NAME = '{"name":"Depot"}';

test('a compressed body is refused by the header, of JSON and of files', async () => {
  for (const coding of ['gzip', 'deflate', 'br', 'zstd', 'x-gzip', 'GZIP', 'gzip, identity'])
    for (const [method, path] of [
      ['PATCH', PATH],
      ['POST', '/v3/blueprints/upload'],
      ['POST', '/v3/telemetry/import'],
    ] as const) {
      const headers = { 'Content-Encoding': coding };
      const answer = await gateway().call('OWNER', method, path, gzipSync(NAME), headers);
      assert.equal(refusal(answer), '415 unsupported_media_type', `${method} ${path} ${coding}`);
    }
});

test('a body with another charset than UTF-8 is refused, whatever its type', async () => {
  for (const type of [
    'application/json; charset=iso-8859-1',
    'application/json;charset="UTF-16"',
    'application/x-www-form-urlencoded; charset=windows-1252',
  ]) {
    const answer = await gateway().call('OWNER', 'PATCH', PATH, NAME, { 'Content-Type': type });
    assert.equal(refusal(answer), '415 unsupported_media_type', type);
  }
});

test('a body that is UTF-8 in any spelling is taken, and so is identity', async () => {
  const taken: Record<string, string>[] = [
    { 'Content-Type': 'application/json; charset=utf-8' },
    { 'Content-Type': 'application/json;charset="UTF8"' },
    { 'Content-Type': 'text/plain; charset=US-ASCII' },
    { 'Content-Type': '' },
    { 'Content-Encoding': 'identity' },
    { 'Content-Encoding': '' },
  ];
  for (const headers of taken) {
    const answer = await gateway().call('OWNER', 'PATCH', PATH, NAME, headers);
    assert.equal(answer.status, 200, JSON.stringify(headers));
  }
});
