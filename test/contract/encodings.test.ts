/** Bodies in encodings that the gateway does not read (docs/interface/http.md#requests). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { refusal, startTestGateway, useTestGateway } from '../support/test-gateway.ts';

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

test('a body in UTF-8 is taken under any spelling of the charset, and so is identity', async () => {
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

test('an answer names every header that it depends on, also when it is plain or a refusal', async (t) => {
  const served = await startTestGateway(t, {
    environment: { GATEWAY_CORS_ORIGINS: 'https://pages.example' },
  });
  const varyOf = async (path: string, headers: Record<string, string>): Promise<string[]> => {
    const answer = await served.request('READONLY', 'GET', path, undefined, headers);
    await answer.body?.cancel();
    return (answer.headers.get('vary') ?? '').toLowerCase().split(/,\s*/).toSorted();
  };
  const long = '/v3/devices?expand=manifest';
  const callers: Record<string, string>[] = [
    {},
    { Origin: 'https://pages.example' },
    { Origin: 'https://other.example' },
  ];
  for (const headers of callers)
    for (const coding of ['gzip', 'identity'])
      assert.deepEqual(
        await varyOf(long, { ...headers, 'Accept-Encoding': coding }),
        ['accept-encoding', 'origin'],
        `${coding} ${JSON.stringify(headers)}`,
      );
  assert.deepEqual(await varyOf('/v3/devices/nobody', {}), ['origin']);
  assert.deepEqual(await varyOf('/v3/openapi.json', {}), ['accept-encoding', 'origin']);
});
