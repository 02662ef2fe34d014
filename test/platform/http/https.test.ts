import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:https';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { WebSocket } from 'ws';
import { LIMITS } from '../../../src/lib/limits.ts';
import { Tls } from '../../../src/platform/tls/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { until } from '../../support/until.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';
import { type More, type Served, serve } from './support.ts';

const NAMES = { dns: ['localhost'], ips: ['127.0.0.1'] };

async function newTls(t: TestContext): Promise<Tls> {
  // Clients judge dates by the real clock of the machine.
  const clock = new TestClock(Date.now());
  const folder = join(temporaryFolder(t), 'tls');
  return Tls.open({ folder, clock, log: recordingLog(clock).log, limits: LIMITS.tls, names: () => NAMES });
}

async function serveSecure(
  t: TestContext,
  more: More = {},
): Promise<Served & { tls: Tls; httpsPort: number }> {
  const tls = await newTls(t);
  const https = { host: '127.0.0.1', port: 0, secureContext: tls.serverContext() };
  const served = await serve(t, { https, ...more });
  return { ...served, tls, httpsPort: served.httpsPort ?? 0 };
}

interface Got {
  status: number | undefined;
  text: string;
}

function get(port: number, path: string, options: ConnectionOptions, host = 'localhost'): Promise<Got> {
  return new Promise((resolve, reject) => {
    const headers = { 'X-Service-Auth-Token': 'owner' };
    const sent = request({ host, port, path, headers, agent: false, ...options }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({ status: response.statusCode, text: Buffer.concat(chunks).toString() }),
      );
    });
    sent.on('error', reject);
    sent.end();
  });
}

function handshake(t: TestContext, port: number, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', servername: 'localhost', ...options }, () =>
      resolve(socket),
    );
    socket.on('error', reject);
    t.after(() => socket.destroy());
  });
}

describe('HTTPS', () => {
  test('HTTPS is absent unless configured', async (t) => {
    const { httpsPort } = await serve(t);
    assert.equal(httpsPort, undefined);
  });

  test('HTTPS shows a certificate that only clients with the authority accept', async (t) => {
    const { httpsPort } = await serveSecure(t);
    const other = await newTls(t);
    await assert.rejects(get(httpsPort, '/v3/things/slug', { ca: other.caPem }), {
      code: /UNABLE_TO_VERIFY_LEAF_SIGNATURE|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT_LOCALLY/,
    });
    await assert.rejects(get(httpsPort, '/v3/things/slug', {}));
  });

  test('HTTPS is not for names that the certificate does not have', async (t) => {
    const { httpsPort, tls } = await serveSecure(t);
    await assert.rejects(get(httpsPort, '/v3/things/slug', { ca: tls.caPem, servername: 'other.example' }), {
      code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    });
  });

  test('HTTPS refuses TLS 1.1 and plain HTTP, and neither is an internal error', async (t) => {
    const { httpsPort, tls, lines } = await serveSecure(t);
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    await assert.rejects(handshake(t, httpsPort, { ca: tls.caPem, ...old }));
    const plain = connectTcp(httpsPort, '127.0.0.1');
    plain.write('GET /v3/things/slug HTTP/1.1\r\nHost: a\r\n\r\n');
    let received = '';
    plain.on('data', (data: Buffer) => (received += data.toString('latin1')));
    await new Promise<void>((resolve) => {
      plain.on('close', () => resolve());
      // A reset is one way of closing.
      plain.on('error', () => resolve());
    });
    assert.doesNotMatch(received, /HTTP/);
    assert.deepEqual(
      lines.filter(({ level }) => level === 'error'),
      [],
    );
  });

  test('HTTPS serves the same operations, over TLS 1.2 and 1.3, by name and address', async (t) => {
    const { httpsPort, tls, calls } = await serveSecure(t);
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const)
      for (const host of ['localhost', '127.0.0.1']) {
        const answer = await get(httpsPort, '/v3/things/slug', { ca: tls.caPem, maxVersion }, host);
        assert.deepEqual(answer, { status: 200, text: '{"thing":"id"}' });
      }
    assert.ok(calls.every(({ isEncrypted, remoteAddress }) => isEncrypted && remoteAddress === '127.0.0.1'));
  });

  test('HTTPS serves streams', async (t) => {
    const { httpsPort, tls } = await serveSecure(t);
    const webSocket = new WebSocket(`wss://localhost:${httpsPort}/v3/things/slug/feed?token=user`, {
      ca: tls.caPem,
    });
    t.after(() => webSocket.terminate());
    const message = await new Promise<string>((resolve, reject) => {
      webSocket.on('message', (data: Buffer) => resolve(data.toString()));
      webSocket.on('error', reject);
    });
    assert.equal(message, '{"thing":"id"}');
  });

  test('HTTPS agrees to HTTP/1.1 only', async (t) => {
    const { httpsPort, tls } = await serveSecure(t);
    const socket = await handshake(t, httpsPort, { ca: tls.caPem, ALPNProtocols: ['h2', 'http/1.1'] });
    assert.equal(socket.alpnProtocol, 'http/1.1');
  });

  test('HTTPS agrees to HTTP/1.0 with a client that offers nothing else', async (t) => {
    const { httpsPort, tls } = await serveSecure(t);
    const socket = await handshake(t, httpsPort, { ca: tls.caPem, ALPNProtocols: ['http/1.0'] });
    assert.equal(socket.alpnProtocol, 'http/1.0');
    socket.write('GET /v3/things/slug HTTP/1.0\r\nX-Service-Auth-Token: owner\r\n\r\n');
    const [first] = (await once(socket, 'data')) as [Buffer];
    assert.match(first.toString(), /^HTTP\/1\.1 200 OK\r\n/);
  });

  test('HTTPS takes another certificate at once, and open connections live on', async (t) => {
    const { http, httpsPort, tls } = await serveSecure(t);
    const before = await handshake(t, httpsPort, { ca: tls.caPem });
    const renewed = await newTls(t);
    http.setSecureContext(renewed.serverContext());
    assert.equal((await get(httpsPort, '/v3/things/slug', { ca: renewed.caPem })).status, 200);
    await assert.rejects(get(httpsPort, '/v3/things/slug', { ca: tls.caPem }));
    let received = '';
    before.on('data', (data: Buffer) => (received += data.toString('latin1')));
    before.write('GET /v3/nothing HTTP/1.1\r\nHost: a\r\n\r\n');
    await until(() => received.startsWith('HTTP/1.1 404'));
  });

  test('HTTPS counts connections together with plain HTTP, and handshakes that never end are dropped', async (t) => {
    const { httpsPort, metrics, tls } = await serveSecure(t, {
      http: { connectionsPerAddress: 1 },
    });
    const held = connectTcp(httpsPort, '127.0.0.1');
    const ended = new Promise<void>((resolve) => held.once('close', () => resolve()));
    held.on('error', () => undefined);
    await until(async () => /^gateway_http_connections 1$/m.test(await metrics.text()));
    assert.equal((await get(httpsPort, '/v3/things/slug', { ca: tls.caPem })).status, 200);
    await ended;
    assert.match(await metrics.text(), /^gateway_http_connections_gave_way_total 1$/m);
  });

  test('HTTPS rejects the start when it cannot listen, and closes plain HTTP again', async (t) => {
    const first = await serveSecure(t);
    const https = { host: '127.0.0.1', port: first.httpsPort, secureContext: first.tls.serverContext() };
    await assert.rejects(serve(t, { https }), { code: 'EADDRINUSE' });
  });

  test('HTTPS stops with the rest, idle connections included', async (t) => {
    const { http, httpsPort, tls } = await serveSecure(t);
    const idle = await handshake(t, httpsPort, { ca: tls.caPem });
    const ended = new Promise<void>((resolve) => idle.once('close', () => resolve()));
    await http.stop(60_000);
    await ended;
  });
});
