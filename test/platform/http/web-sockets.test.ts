import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { WebSocket } from 'ws';
import { LIMITS } from '../../../src/lib/limits.ts';
import { until } from '../../support/until.ts';
import { type Answer, firstError, parseAnswer, raw, type Served, serve } from './support.ts';

const FEED = '/v3/things/slug/feed';
const HANDSHAKE = {
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': 'AAAAAAAAAAAAAAAAAAAAAA==',
};

interface Opened {
  webSocket: WebSocket;
  messages: string[];
  closed: Promise<{ code: number; reason: string }>;
}

function open(
  t: TestContext,
  { port }: Served,
  path = FEED,
  headers: Record<string, string> = { 'X-Service-Auth-Token': 'owner' },
  options = {},
): Promise<Opened> {
  const webSocket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers, ...options });
  t.after(() => webSocket.terminate());
  const messages: string[] = [];
  webSocket.on('message', (data: Buffer) => messages.push(data.toString()));
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    webSocket.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
  });
  return new Promise((resolve, reject) => {
    webSocket.on('open', () => resolve({ webSocket, messages, closed }));
    webSocket.on('error', reject);
  });
}

/** The answer to an upgrade whose every byte the test chose. */
async function refusal(
  t: TestContext,
  { port }: Served,
  path: string,
  changes: Record<string, string | undefined> = {},
  method = 'GET',
): Promise<Answer> {
  const headers: Record<string, string | undefined> = {
    Host: 'a',
    'X-Service-Auth-Token': 'owner',
    'X-Request-Id': 'mine',
    ...HANDSHAKE,
    ...changes,
  };
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
  const { closed } = await raw(t, port, [`${method} ${path} HTTP/1.1`, ...lines, '', ''].join('\r\n'));
  return parseAnswer(await closed);
}

describe('an upgrade is refused before it happens, with status and envelope', () => {
  for (const [what, path, changes, expected] of [
    ['without a token', FEED, { 'X-Service-Auth-Token': undefined }, '401 invalid_header'],
    ['with a token nobody knows', FEED, { 'X-Service-Auth-Token': 'wrong' }, '403 access_denied'],
    [
      'with one nobody knows in the query',
      `${FEED}?token=wrong`,
      { 'X-Service-Auth-Token': undefined },
      '403 access_denied',
    ],
    ['with a role too low', FEED, { 'X-Service-Auth-Token': 'readonly' }, '403 insufficient_role'],
    ['of an unknown thing', '/v3/things/other/feed', {}, '404 device_not_found'],
    ['of an unknown path', '/v3/nothing', {}, '404 route_not_found'],
    ['of an operation that is no stream', '/v3/table', {}, '404 route_not_found'],
    ['with a wrong query', `${FEED}?order=x`, {}, '400 invalid_query'],
    ['by the stream itself', `${FEED}?order=DESC`, {}, '404 device_not_found'],
    ['without a host', FEED, { Host: undefined }, '400 invalid_header'],
    ['to another host in its line', 'http://b/v3/x', {}, '400 invalid_path'],
    ['with a key that is none', FEED, { 'Sec-WebSocket-Key': 'x' }, '400 invalid_header'],
    ['without a key', FEED, { 'Sec-WebSocket-Key': undefined }, '400 invalid_header'],
    ['of another version', FEED, { 'Sec-WebSocket-Version': '12' }, '400 invalid_header'],
  ] as const)
    test(what, async (t) => {
      const served = await serve(t);
      const answer = await refusal(t, served, path, changes);
      assert.equal(`${answer.status} ${answer.code}`, expected);
      assert.equal(answer.headers.get('content-type'), 'application/json');
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      // A line that cannot be read has no answer.
      if (path.startsWith('/')) assert.equal(answer.headers.get('x-request-id'), 'mine');
      assert.ok(answer.headers.get('x-request-id'));
      assert.equal(Date.parse(answer.headers.get('date') ?? ''), served.clock.wallMs());
      assert.equal(served.sockets.length, 0);
      assert.deepEqual(
        served.lines.filter(({ level }) => level === 'error'),
        [],
      );
    });

  test('an upgrade by another method than GET is refused, with status and envelope', async (t) => {
    const served = await serve(t);
    const changes = { Connection: 'Upgrade, close', 'Content-Length': '0' };
    const answer = await refusal(t, served, FEED, changes, 'POST');
    assert.equal(`${answer.status} ${answer.code}`, '405 method_not_allowed');
    assert.equal(answer.headers.get('allow'), 'GET, HEAD');
    assert.equal(served.sockets.length, 0);
  });

  test('an upgrade to another version is refused with the one that is supported', async (t) => {
    const answer = await refusal(t, await serve(t), FEED, { 'Sec-WebSocket-Version': '12' });
    assert.equal(answer.headers.get('sec-websocket-version'), '13');
    assert.deepEqual(firstError(answer)?.details, { header: 'Sec-WebSocket-Version' });
  });

  test('an upgrade is refused with Retry-After when too many streams are open, until one is closed', async (t) => {
    const served = await serve(t, { webSocket: { connections: 2 } });
    const { webSocket } = await open(t, served);
    await open(t, served);
    const answer = await refusal(t, served, FEED);
    assert.equal(`${answer.status} ${answer.code}`, '429 too_many_requests');
    assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
    webSocket.close();
    await until(() => served.http.streamCount === 1);
    await open(t, served);
  });

  test('an upgrade is refused to a token or address that has its share when all places are taken', async (t) => {
    const message = 'Too many WebSockets are open, and the share of this token or address is used up.';
    for (const shares of [
      { connectionsPerIdentity: 1, connectionsPerAddress: 9 },
      { connectionsPerIdentity: 9, connectionsPerAddress: 2 },
    ]) {
      const served = await serve(t, { webSocket: { connections: 2, ...shares } });
      await open(t, served);
      await open(t, served);
      const answer = await refusal(t, served, FEED);
      assert.equal(firstError(answer)?.message, message);
      assert.equal(`${answer.status} ${answer.headers.get('retry-after')}`, '429 10');
    }
  });

  test('an upgrade beyond the rate of its token is refused, with status and envelope', async (t) => {
    const served = await serve(t, { requestBurst: 1, requestsPerSecond: 0.05 });
    await open(t, served);
    assert.equal((await refusal(t, served, FEED)).status, 429);
  });

  test('an upgrade is refused after failed tokens beyond their limit, with status and envelope', async (t) => {
    const served = await serve(t, { http: { failedAuthenticationsPerMinute: 1 } });
    const guess = { 'X-Service-Auth-Token': 'guess' };
    assert.equal((await refusal(t, served, FEED, guess)).status, 403);
    assert.equal((await refusal(t, served, FEED, guess)).status, 429);
  });
});

describe('an open stream', () => {
  test('an open stream answers on every form of its path, with every form of the token', async (t) => {
    const served = await serve(t);
    for (const [path, headers] of [
      [FEED, { 'X-Service-Auth-Token': 'user' }],
      [`/api${FEED}/`, { 'X-Enapter-Auth-Token': 'user' }],
      ['/v3/things/slug', { Authorization: 'Bearer user' }],
      [`${FEED}?token=user`, {}],
    ] as const) {
      const { messages, webSocket } = await open(t, served, path, headers);
      await until(() => messages.length === 1);
      assert.deepEqual(messages, ['{"thing":"id"}']);
      assert.equal(webSocket.protocol + webSocket.extensions, '');
    }
    assert.equal(served.http.streamCount, 4);
    assert.match(await served.metrics.text(), /^gateway_web_sockets 4$/m);
  });

  test('an open stream agrees to no subprotocol or compression, and carries the request id and the time', async (t) => {
    const { port, clock } = await serve(t);
    const { received, socket } = await raw(
      t,
      port,
      [
        `GET ${FEED} HTTP/1.1`,
        'Host: a',
        'X-Service-Auth-Token: user',
        'X-Request-Id: mine',
        ...Object.entries(HANDSHAKE).map(([name, value]) => `${name}: ${value}`),
        'Sec-WebSocket-Protocol: a, b',
        'Sec-WebSocket-Extensions: permessage-deflate',
        '',
        '',
      ].join('\r\n'),
    );
    await until(() => received().includes('\r\n\r\n'));
    assert.match(received(), /^HTTP\/1\.1 101 /);
    assert.doesNotMatch(received(), /sec-websocket-(protocol|extensions)/i);
    assert.match(received(), /\r\nX-Request-Id: mine\r\n/);
    assert.ok(received().includes(`\r\nDate: ${new Date(clock.wallMs()).toUTCString()}\r\n`), received());
    socket.destroy();
  });

  test('an open stream ignores what the client sends, up to its limit, and answers its pings', async (t) => {
    const served = await serve(t);
    const { webSocket, messages } = await open(t, served);
    const pong = new Promise<string>((resolve) => {
      webSocket.on('pong', (data) => resolve(data.toString()));
    });
    webSocket.send('{"anything":1}');
    webSocket.send(randomBytes(LIMITS.webSocket.inboundFrameBytes));
    webSocket.ping('still there');
    assert.equal(await pong, 'still there');
    served.sockets[0]?.send({ more: true });
    await until(() => messages.length === 2);
    assert.equal(messages[1], '{"more":true}');
  });

  test('an open stream closes with 1009 on a larger frame, and on one in pieces', async (t) => {
    const served = await serve(t);
    const whole = await open(t, served);
    whole.webSocket.send('x'.repeat(LIMITS.webSocket.inboundFrameBytes + 1));
    assert.equal((await whole.closed).code, 1009);
    const pieces = await open(t, served);
    const half = 'x'.repeat(LIMITS.webSocket.inboundFrameBytes - 1);
    pieces.webSocket.send(half, { fin: false });
    pieces.webSocket.send(half, { fin: true });
    assert.equal((await pieces.closed).code, 1009);
    await until(() => served.http.streamCount === 0);
    assert.equal(served.ended.size, served.sockets.length);
  });

  test('an open stream pings, and ends after two pings without a pong', async (t) => {
    const served = await serve(t);
    const alive = await open(t, served);
    const dead = await open(t, served, FEED, { 'X-Service-Auth-Token': 'owner' }, { autoPong: false });
    let pings = 0;
    alive.webSocket.on('ping', () => pings++);
    for (let count = 1; count <= 3; count++) {
      await served.clock.advance(LIMITS.webSocket.pingIntervalMs);
      await until(() => pings === count);
      // The pong is on its way; the next ping must not overtake it.
      alive.webSocket.ping();
      await new Promise((resolve) => alive.webSocket.once('pong', resolve));
    }
    assert.equal((await dead.closed).code, 1006);
    assert.equal(alive.webSocket.readyState, WebSocket.OPEN);
    await until(() => served.http.streamCount === 1);
  });

  test('an open stream closes with 1013 towards a reader that is too slow, and counts it in the metrics', async (t) => {
    const served = await serve(t);
    const { webSocket } = await open(t, served);
    webSocket.pause();
    const [socket] = served.sockets;
    let sent = 0;
    while (served.ended.size === 0 && sent < 1_000) {
      socket?.send({ text: 'x'.repeat(100_000) });
      sent++;
      // What the systems between take does not count.
      if (sent % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(served.ended.size, 1, 'the stream ends at once');
    assert.match(await served.metrics.text(), /^gateway_web_socket_slow_readers_total 1$/m);
    socket?.send({ ignored: true });
    await served.clock.advance(LIMITS.webSocket.closeTimeoutMs);
    await until(() => served.http.streamCount === 0);
  });

  test('an open stream tells a reader that catches up why it was closed', async (t) => {
    const served = await serve(t, { webSocket: { queuedBytes: 10 } });
    const { closed } = await open(t, served);
    for (let index = 0; index < 20; index++) served.sockets[0]?.send({ text: 'x'.repeat(1_000_000) });
    assert.deepEqual(await closed, { code: 1013, reason: 'reader is too slow' });
  });

  test('an open stream beyond the share of its token closes with 1013 for that of another one, the newest first', async (t) => {
    const served = await serve(t, {
      webSocket: { connections: 4, connectionsPerIdentity: 2, connectionsPerAddress: 9 },
    });
    const many: Opened[] = [];
    for (let index = 0; index < 4; index++) many.push(await open(t, served));
    const user = { 'X-Service-Auth-Token': 'user' };
    for (const given of [3, 2]) {
      const other = await open(t, served, FEED, user);
      assert.deepEqual(await many[given]?.closed, { code: 1013, reason: 'others need the place' });
      assert.equal(other.webSocket.readyState, WebSocket.OPEN);
    }
    for (const headers of [user, { 'X-Service-Auth-Token': 'installer' }, {}])
      assert.equal((await refusal(t, served, FEED, headers)).status, 429, 'everybody has his share now');
    assert.deepEqual(
      many.map(({ webSocket }) => webSocket.readyState === WebSocket.OPEN),
      [true, true, false, false],
    );
    assert.match(await served.metrics.text(), /^gateway_web_sockets_gave_way_total 2$/m);
  });

  test('an open stream gives way to other tokens of its person when its token is beyond its share', async (t) => {
    const served = await serve(t, {
      webSocket: {
        connections: 3,
        connectionsPerIdentity: 2,
        connectionsPerToken: 1,
        connectionsPerAddress: 9,
      },
      authenticate: (id) => ({
        role: 'OWNER',
        origin: { kind: 'token', id, name: id },
        rateKey: 'anna tokens',
        tokenId: id,
      }),
    });
    const flood: Opened[] = [];
    for (let index = 0; index < 3; index++) flood.push(await open(t, served));
    const other = await open(t, served, FEED, { 'X-Service-Auth-Token': 'dashboard' });
    assert.deepEqual(await flood[2]?.closed, { code: 1013, reason: 'others need the place' });
    assert.equal(other.webSocket.readyState, WebSocket.OPEN);
  });

  test('an open stream gives way to a login at the same address when its token is beyond its share', async (t) => {
    const served = await serve(t, {
      webSocket: {
        connections: 4,
        connectionsPerIdentity: 3,
        connectionsPerToken: 2,
        connectionsPerAddress: 3,
      },
      authenticate: (id) => ({
        role: 'OWNER',
        origin:
          id === 'session' ? { kind: 'user', id: 'anna', name: 'anna' } : { kind: 'token', id, name: id },
        rateKey: id === 'session' ? 'anna' : 'anna tokens',
        tokenId: id,
      }),
    });
    const flood: Opened[] = [];
    for (let index = 0; index < 4; index++) flood.push(await open(t, served));
    const session = { 'X-Service-Auth-Token': 'session' };
    for (const given of [3, 2]) {
      const login = await open(t, served, FEED, session);
      assert.deepEqual(await flood[given]?.closed, { code: 1013, reason: 'others need the place' });
      assert.equal(login.webSocket.readyState, WebSocket.OPEN);
    }
    for (const headers of [{}, session])
      assert.equal((await refusal(t, served, FEED, headers)).status, 429, 'everybody has a share now');
  });

  test('an open stream closes with 1008 when its token is revoked, and others stay', async (t) => {
    const served = await serve(t);
    const revoked = await open(t, served);
    const other = await open(t, served, FEED, { 'X-Service-Auth-Token': 'user' });
    served.http.closeStreams((principal) => principal.role === 'OWNER', 'the token was revoked');
    assert.deepEqual(await revoked.closed, { code: 1008, reason: 'the token was revoked' });
    assert.equal(other.webSocket.readyState, WebSocket.OPEN);
    await until(() => served.http.streamCount === 1);
  });

  test('an open stream closes with 1011 and is logged when it fails to start', async (t) => {
    const { stream } = await import('../../../src/platform/http/index.ts');
    const failing = stream({
      operation: 'fail',
      paths: ['/v3/fail'],
      role: 'USER',
      open: () => () => {
        throw new TypeError('no');
      },
    });
    const served = await serve(t, { streams: [failing] });
    const { closed } = await open(t, served, '/v3/fail');
    assert.deepEqual(await closed, { code: 1011, reason: 'internal error' });
    assert.ok(served.lines.some(({ message }) => message === 'stream failed to start'));
  });

  test('an open stream may be closed by the stream itself, once', async (t) => {
    const served = await serve(t);
    const { closed } = await open(t, served);
    served.sockets[0]?.close(1000, 'done');
    served.sockets[0]?.close(1008, 'again');
    assert.deepEqual(await closed, { code: 1000, reason: 'done' });
  });

  test('an open stream leaves no timer', async (t) => {
    const served = await serve(t);
    const before = served.clock.waiting;
    const { webSocket } = await open(t, served);
    served.sockets[0]?.close(1000, 'done');
    await until(() => webSocket.readyState === WebSocket.CLOSED);
    await until(() => served.clock.waiting === before);
  });
});
