/** What tells browsers how to treat our answers, on answers of every kind. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { Tls } from '../../../src/platform/tls/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { ask, type More, rawAnswer, serve } from './support.ts';

const UPGRADE = 'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n';

function consoleFolder(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'gateway-headers-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  writeFileSync(join(dir, 'index.html'), '<!doctype html>');
  return dir;
}

describe('every answer has a date and an id, and forbids guessing its type, framing, a referrer and loading anything', () => {
  const kinds: [title: string, status: number, request: string][] = [
    ['an operation', 200, 'GET /v3/things/slug HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\n'],
    ['a table', 200, 'GET /v3/table HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\n'],
    ['a refusal', 401, 'GET /v3/things/slug HTTP/1.1\r\nHost: a\r\n'],
    ['an unknown path', 404, 'GET /nothing HTTP/1.1\r\nHost: a\r\n'],
    ['another method', 405, 'DELETE /v3/things HTTP/1.1\r\nHost: a\r\n'],
    ['a failure', 500, 'GET /v3/break/now HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\n'],
    ['a request without a host', 400, 'GET /v3/things/slug HTTP/1.1\r\n'],
    ['a host that is none', 400, 'GET /v3/things/slug HTTP/1.1\r\nHost: a b/c\r\n'],
    ['what is no HTTP', 400, 'NONSENSE\r\n'],
    ['too many headers', 431, `GET / HTTP/1.1\r\nX-Long: ${'x'.repeat(LIMITS.http.headerBytes)}\r\n`],
    ['a refused upgrade', 401, `GET /v3/things/slug/feed HTTP/1.1\r\nHost: a\r\n${UPGRADE}`],
    ['an upgrade to nowhere', 404, `GET /nothing HTTP/1.1\r\nHost: a\r\n${UPGRADE}`],
  ];
  for (const [title, status, head] of kinds)
    test(`every answer forbids guessing its type, framing, a referrer and loading anything: ${status} ${title}`, async (t) => {
      const { port } = await serve(t);
      const { headers, status: got } = await rawAnswer(t, port, `${head}Connection: close\r\n\r\n`);
      assert.equal(got, status);
      assert.ok(Date.parse(headers.get('date') ?? '') > 0);
      assert.ok(headers.get('x-request-id'));
      assert.equal(headers.get('x-content-type-options'), 'nosniff');
      assert.equal(headers.get('x-frame-options'), 'DENY');
      assert.equal(headers.get('referrer-policy'), 'no-referrer');
      assert.equal(headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
    });

  test('a page of the console has a policy that lets it use its own origin and run no inline script', async (t) => {
    const { origin } = await serve(t, { files: { dir: consoleFolder(t) } });
    const { headers } = await ask(origin, 'GET', '/', { token: null });
    const policy = headers.get('content-security-policy') ?? '';
    assert.match(policy, /^default-src 'self'; .*frame-ancestors 'none'; object-src 'none'$/);
    assert.doesNotMatch(policy, /unsafe|\*|http/);
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    assert.equal(headers.get('x-frame-options'), 'DENY');
    assert.equal(headers.get('referrer-policy'), 'no-referrer');
    assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin');
  });
});

describe('the order to come over TLS only', () => {
  async function headersOver(t: TestContext, more: More): Promise<{ plain: Headers; secure: unknown }> {
    const clock = new TestClock(Date.now());
    const tls = await Tls.open({
      folder: join(temporaryFolder(t), 'tls'),
      clock,
      log: recordingLog(clock).log,
      limits: LIMITS.tls,
      names: () => ({ dns: ['localhost'], ips: ['127.0.0.1'] }),
    });
    const https = { host: '127.0.0.1', port: 0, secureContext: tls.serverContext() };
    const { origin, httpsPort } = await serve(t, { https, ...more });
    const secure = await new Promise((resolve, reject) => {
      const options = { host: 'localhost', port: httpsPort, path: '/nothing', ca: tls.caPem, agent: false };
      request(options, (response) => {
        response.resume();
        resolve(response.headers['strict-transport-security']);
      })
        .on('error', reject)
        .end();
    });
    return { plain: (await ask(origin, 'GET', '/nothing')).headers, secure };
  }

  test('HSTS is not sent while plain HTTP serves others, or the certificate is our own', async (t) => {
    const { plain, secure } = await headersOver(t, {});
    assert.deepEqual([plain.get('strict-transport-security'), secure], [null, undefined]);
  });

  test('HSTS is sent over TLS alone where that is the only listener', async (t) => {
    const { plain, secure } = await headersOver(t, { strictTransport: true });
    assert.deepEqual([plain.get('strict-transport-security'), secure], [null, 'max-age=15552000']);
  });
});
