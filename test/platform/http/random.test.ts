/** Whatever arrives, the answer is one that the contract knows, and never a failure of ours. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { CHARACTER } from '../../support/characters.ts';
import { type Answer, ask, parseAnswer, raw, type Served, serve } from './support.ts';
import { runs } from '../../support/runs.ts';

const segment = fc.oneof(
  fc.constantFrom(
    'v3',
    'api',
    'things',
    'slug',
    'special',
    'feed',
    'upload',
    'table',
    'touch',
    '',
    '.',
    '..',
    '%2e',
    '%',
    '%00',
  ),
  fc.string({ maxLength: 12 }).map((text) => encodeURIComponent(text.toWellFormed())),
);
const path = fc
  .tuple(fc.constantFrom('/', '/v3/', '/v3/things/', '/api/v3/'), fc.array(segment, { maxLength: 5 }))
  .map(([start, rest]) => start + rest.join('/'));
const query = fc.oneof(
  fc.constant(''),
  fc.webQueryParameters().map((text) => `?${text}`),
  fc.constantFrom('?limit=1&limit=x', '?kind=%ff,&order=', '?is_new=__proto__'),
);
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND');
const token = fc.constantFrom('owner', 'user', 'readonly', 'wrong', null);
const body = fc.oneof(
  fc.constant(undefined),
  fc.json({ maxDepth: 4 }),
  fc.string({ maxLength: 200, unit: CHARACTER }).map((text) => text.toWellFormed()),
  fc.uint8Array({ maxLength: 300 }),
  fc.constantFrom('{"name":"a"}', '{"name":1,"size":{}}', '{"__proto__":null}', '{"name":"\\ud800"}'),
);
const headers = fc.dictionary(
  fc.constantFrom(
    'X-Request-Id',
    'Accept-Encoding',
    'Content-Type',
    'X-Enapter-Auth-Token',
    'Authorization',
    'Cookie',
    'Accept',
    'Origin',
    'X-Other',
  ),
  fc.oneof(
    fc.constantFrom(
      'gzip;q=;,',
      'multipart/form-data; boundary=',
      'multipart/form-data',
      'Bearer ',
      'gateway_session=;;',
      '*',
    ),
    // Header values are Latin-1 without control characters.
    fc.string({
      maxLength: 60,
      unit: fc
        .integer({ min: 0x20, max: 0xff })
        .filter((code) => code !== 0x7f)
        .map((code) => String.fromCodePoint(code)),
    }),
  ),
);

const start = (t: Parameters<typeof serve>[0]): Promise<Served> =>
  serve(t, {
    requestBurst: 1_000_000,
    requestsPerSecond: 1_000_000,
    http: { failedAuthenticationsPerMinute: 1_000_000, connectBurst: 1_000_000 },
  });

function assertKnown({ status, headers: given, text, json }: Answer, what: string): void {
  assert.ok(status < 500 && status >= 200, `${status} ${what}`);
  if (status >= 400 && text !== '') {
    assert.equal(given.get('content-type'), 'application/json', what);
    const { errors } = json as { errors: { code: unknown; message: unknown }[] };
    assert.ok(errors.length > 0, what);
    for (const error of errors)
      assert.deepEqual([typeof error.code, typeof error.message], ['string', 'string']);
  }
  assert.ok(given.get('x-request-id'), what);
}

describe('random requests', () => {
  test('random requests are answered below 500 with the envelope, whatever path, query, method, header and body they have', async (t) => {
    const { origin, lines } = await start(t);
    await fc.assert(
      fc.asyncProperty(
        path,
        query,
        method,
        token,
        headers,
        body,
        async (at, asked, verb, by, given, content) => {
          const hasBody = verb !== 'GET' && verb !== 'HEAD';
          const more = hasBody && content !== undefined ? { body: content } : {};
          const answer = await ask(origin, verb, at + asked, { token: by, headers: given, ...more });
          assertKnown(answer, `${verb} ${at}${asked}`);
        },
      ),
      { numRuns: runs(100) },
    );
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    );
  });

  test('random requests are answered below 500 or closed when they are random bytes on a socket, and the server lives on', async (t) => {
    const { port, origin, lines } = await start(t);
    const line = fc.oneof(
      fc.constantFrom(
        'GET / HTTP/1.1',
        'POST /v3/things HTTP/1.1',
        'Host: a',
        'Transfer-Encoding: chunked',
        'Content-Length: 5',
        'Upgrade: websocket',
        'Connection: Upgrade',
        'Sec-WebSocket-Key: x',
        'Expect: 100-continue',
        '',
        '5',
        '{"a"}',
        '0',
        'X-Service-Auth-Token: owner',
      ),
      fc.string({ maxLength: 40 }),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { minLength: 1, maxLength: 12 }),
        fc.constantFrom('\r\n', '\n'),
        async (parts, end) => {
          const { socket, closed } = await raw(t, port, parts.join(end) + end + end);
          socket.end();
          const text = await closed;
          for (const [, status] of text.matchAll(/HTTP\/1\.1 (\d{3}) /g))
            assert.ok(Number(status) < 500, text);
          if (text !== '') parseAnswer(text);
        },
      ),
      { numRuns: runs(100) },
    );
    assert.equal((await ask(origin, 'GET', '/v3/things/slug')).status, 200);
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    );
  });
});
