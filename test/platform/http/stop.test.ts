import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { WebSocket } from 'ws';
import { LIMITS } from '../../../src/lib/limits.ts';
import { until } from '../../support/until.ts';
import { ask, parseAnswer, raw, serve } from './support.ts';

const request = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 0\r\n\r\n`;

describe('a server that cannot start', () => {
  test('a server whose address is taken rejects the start, with nothing left open', async (t) => {
    const first = await serve(t);
    await assert.rejects(serve(t, { port: first.port }), { code: 'EADDRINUSE' });
  });
});

describe('a server that stops', () => {
  test('a server that stops refuses new connections', async (t) => {
    const { http, origin } = await serve(t);
    await http.stop(1_000);
    await assert.rejects(ask(origin, 'GET', '/v3/things/slug'));
  });

  test('a server that stops does not wait for connections without a request', async (t) => {
    const { http, port } = await serve(t);
    const silent = await raw(t, port, '');
    const idle = await raw(t, port, request('GET', '/v3/things/slug'));
    await until(() => idle.received().endsWith('}'));
    await http.stop(60_000);
    await Promise.all([silent.closed, idle.closed]);
  });

  test('a server that stops lets a running request end, and takes no other on its connection', async (t) => {
    const { http, port, calls, release } = await serve(t);
    const { closed, socket } = await raw(t, port, request('POST', '/v3/wait'));
    await until(() => calls.length === 1);
    const stopped = http.stop(60_000);
    assert.equal(calls[0]?.signal.aborted, true, 'who waits learns it');
    socket.write(request('POST', '/v3/things/slug/nudge'));
    release();
    await stopped;
    const text = await closed;
    assert.equal(parseAnswer(text).status, 200);
    assert.match(text, /\r\nconnection: close\r\n/i);
    assert.equal(calls.length, 1);
  });

  test('a server that stops answers 503 with Retry-After to later requests', async (t) => {
    const { http } = await serve(t);
    await http.stop(1_000);
    const answer = await http.fetch(new Request('http://a/v3/things/slug'));
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get('retry-after'), '5');
    assert.deepEqual(await answer.json(), {
      errors: [{ code: 'unavailable', message: 'The gateway is stopping.' }],
    });
  });

  test('a server that stops closes streams with 1001', async (t) => {
    const { http, port } = await serve(t);
    const webSocket = new WebSocket(`ws://127.0.0.1:${port}/v3/things/slug/feed?token=owner`);
    await new Promise((resolve) => webSocket.once('open', resolve));
    const closed = new Promise((resolve) => webSocket.once('close', (code) => resolve(code)));
    await http.stop(60_000);
    assert.equal(await closed, 1001);
  });

  test('a server that stops destroys what does not end in time: requests, slow senders and streams that do not answer', async (t) => {
    const { http, port, clock, calls, sockets } = await serve(t);
    const held = await raw(t, port, request('POST', '/v3/wait'));
    const slow = await raw(t, port, 'GET /v3/things/slug HTTP/1.1\r\n');
    const mute = await raw(
      t,
      port,
      'GET /v3/things/slug/feed?token=owner HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
    );
    await until(() => calls.length === 1 && sockets.length === 1);
    const stopped = http.stop(LIMITS.webSocket.closeTimeoutMs / 2);
    let isStopped = false;
    void stopped.then(() => (isStopped = true));
    await clock.advance(LIMITS.webSocket.closeTimeoutMs / 2 - 1);
    assert.equal(isStopped, false);
    await clock.advance(1);
    await stopped;
    await Promise.all([held.closed, slow.closed, mute.closed]);
  });

  test('a server stops once, and again without harm, and without having started', async (t) => {
    const { http, clock } = await serve(t);
    await http.stop(1_000);
    await http.stop(1_000);
    assert.equal(clock.waiting, 0);
  });
});
