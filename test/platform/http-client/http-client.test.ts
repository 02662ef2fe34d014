/** Requests to servers that answer slowly, half, wrongly or not at all. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createNetServer, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { HttpClient, HttpFailure, type HttpClientOptions } from '../../../src/platform/http-client/index.ts';
import { makeAuthority, makeCertificate } from '../../../src/platform/tls/certificates.ts';
import { freePort } from '../../support/line-engines.ts';

const NEVER = new AbortController().signal;
const DAY_MS = 86_400_000;

function clientOf(t: TestContext, more: Partial<HttpClientOptions> = {}): HttpClient {
  const clock = createSystemClock();
  const client = new HttpClient({ clock, timeoutMs: 5_000, answerMaxBytes: 1_000, ...more });
  t.after(() => {
    client.close();
    clock.close();
  });
  return client;
}

async function serving(t: TestContext, listener: RequestListener): Promise<URL> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  return new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/write`);
}

/** A server that ends each connection on request, as one that restarts or closes idle ones. */
async function ending(t: TestContext) {
  const server = createServer((_request, response) => void response.end());
  const [ours, theirs] = [new Set<Socket>(), new Set<Socket>()];
  const note = (message: unknown): void => void ours.add((message as { socket: Socket }).socket);
  subscribe('net.client.socket', note);
  t.after(() => unsubscribe('net.client.socket', note));
  server.on('connection', (socket) => void theirs.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/write`);
  const end = async (): Promise<void> => {
    const closed = [...ours].filter((socket) => !socket.closed).map((socket) => once(socket, 'close'));
    for (const socket of theirs) socket.end();
    await Promise.all(closed);
  };
  return { url, end };
}

test('a connection counts as a reconnect when the one before ended soon after it was used', async (t) => {
  const { url, end } = await ending(t);
  let nowMs = 0;
  const system = createSystemClock();
  t.after(() => system.close());
  const clock = {
    setTimer: (durationMs: number, fire: () => void) => system.setTimer(durationMs, fire),
    monotonicMs: () => nowMs,
  };
  const client = clientOf(t, { clock, forgetsMs: 20_000 });
  const send = () => client.send({ method: 'POST', url, headers: {} }, NEVER);
  await send();
  await send();
  nowMs += 30_000;
  await end();
  await send();
  assert.equal(client.reconnects, 0, 'an idle one');
  await send();
  nowMs += 5_000;
  await end();
  nowMs += 60_000;
  await send();
  assert.equal(client.reconnects, 1, 'one that was in use');
});

/** Answers each request over a kept connection; `used` counts the connections, of TLS when there is a certificate. */
async function counting(t: TestContext, keys?: { cert: string; key: string }) {
  const answer: RequestListener = (request, response) =>
    void request.resume().on('end', () => response.end());
  const server = keys ? createTlsServer(keys, answer) : createServer(answer);
  const counted = { connections: 0 };
  server.on(keys ? 'secureConnection' : 'connection', () => counted.connections++);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  const { port } = server.address() as { port: number };
  return { url: new URL(`${keys ? 'https' : 'http'}://localhost:${port}/write`), counted };
}

test('fifty requests in a row use one connection', async (t) => {
  const { url, counted } = await counting(t);
  const client = clientOf(t);
  for (let count = 0; count < 50; count++)
    await client.send({ method: 'POST', url, headers: {}, body: Buffer.from(`sample ${count}`) }, NEVER);
  assert.deepEqual([counted.connections, client.reconnects], [1, 0]);
});

test('catching up over TLS needs one handshake', async (t) => {
  const dates = { validFromMs: Date.now() - DAY_MS, validToMs: Date.now() + DAY_MS };
  const authority = await makeAuthority({ commonName: 'Test', serial: '01', ...dates });
  const { certificatePem: cert, privateKeyPem: key } = await makeCertificate(authority, {
    commonName: 'localhost',
    names: { dns: ['localhost'], ips: [] },
    serial: '02',
    ...dates,
    purpose: 'server',
  });
  const { url, counted } = await counting(t, { cert, key });
  const client = clientOf(t, { caPem: authority.certificatePem });
  for (let count = 0; count < 50; count++)
    await client.send({ method: 'POST', url, headers: {}, body: Buffer.alloc(1_000) }, NEVER);
  assert.equal(counted.connections, 1);
});

/** Writes the pieces, one every turn, until the connection ends. */
async function hostile(t: TestContext, pieces: () => string | undefined): Promise<URL> {
  const sockets = new Set<Socket>();
  const server = createNetServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.resume();
    socket.once('data', () => void talk(socket));
  });
  const talk = async (socket: Socket): Promise<void> => {
    while (!socket.destroyed) {
      const piece = pieces();
      if (piece === undefined) return void socket.end();
      socket.write(piece);
      await nextTurn();
    }
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/write`);
}

const SWITCHING = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n';
const EARLY_HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';

describe('a request ends with a sentence', () => {
  const once = (text: string) => {
    let left: string | undefined = text;
    return () => {
      const piece = left;
      left = undefined;
      return piece;
    };
  };
  const begun = (begin: string, then: string) => {
    let next = begin;
    return () => {
      const piece = next;
      next = then;
      return piece;
    };
  };
  const cases: [name: string, pieces: () => string | undefined, sentence: RegExp][] = [
    ['switches to another protocol', begun(SWITCHING, 'x'), /^HOST ended the connection before/],
    ['sends 103 for ever', () => EARLY_HINTS, /^HOST ended the connection before/],
    [
      'sends headers for ever',
      begun('HTTP/1.1 200 OK\r\n', 'A: b\r\n'.repeat(1_000)),
      /^HOST does not answer in HTTP/,
    ],
    [
      'sends one header for ever',
      begun('HTTP/1.1 200 OK\r\nA: ', 'a'),
      /^HOST (does not answer in HTTP|did not answer within)/,
    ],
    [
      'sends a byte of the body at a time',
      begun('HTTP/1.1 200 OK\r\n\r\n', ''),
      /^HOST did not answer within/,
    ],
    [
      'sends chunk extensions for ever',
      begun('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;', 'a'.repeat(9_999)),
      /^HOST does not answer in HTTP/,
    ],
    ['speaks another protocol', once('SSH-2.0-OpenSSH_9.2\r\n'), /^HOST does not answer in HTTP/],
    ['closes before it has answered', once(''), /^HOST ended the connection before/],
  ];
  for (const [name, pieces, sentence] of cases)
    test(`a request ends with a sentence when the server ${name}`, async (t) => {
      const url = await hostile(t, pieces);
      const timeoutMs = String(sentence).includes('within') ? 200 : 60_000;
      assert.match(await failureOf(clientOf(t, { timeoutMs }), url), sentence);
    });
});

async function failureOf(client: HttpClient, url: URL): Promise<string> {
  const error: unknown = await client.send({ method: 'POST', url, headers: {} }, NEVER).then(
    () => undefined,
    (failure: unknown) => failure,
  );
  assert.ok(error instanceof HttpFailure, String(error));
  return error.message.replaceAll(url.host, 'HOST');
}

describe('a request fails', () => {
  test('a request fails when nobody listens', async (t) => {
    const url = new URL(`http://127.0.0.1:${await freePort()}/`);
    assert.equal(await failureOf(clientOf(t), url), 'Nothing listens at HOST.');
  });

  test('a request fails when no answer comes in time', async (t) => {
    const url = await serving(t, () => undefined);
    assert.equal(await failureOf(clientOf(t, { timeoutMs: 50 }), url), 'HOST did not answer within 0.05 s.');
  });

  test('a request fails when half an answer comes', async (t) => {
    const url = await serving(t, (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setImmediate(() => response.destroy());
    });
    assert.equal(await failureOf(clientOf(t), url), 'HOST ended the connection before it had answered.');
  });

  test('a request fails when the answer does not end', async (t) => {
    const url = await serving(t, (_request, response) => void response.end('x'.repeat(2_000)));
    assert.match(await failureOf(clientOf(t), url), /^The answer is longer than 1000 bytes/);
  });

  test('a request fails when the certificate is of another name, or of an authority that nobody trusts', async (t) => {
    const dates = { validFromMs: Date.now() - DAY_MS, validToMs: Date.now() + DAY_MS };
    const authority = await makeAuthority({ commonName: 'Test', serial: '01', ...dates });
    const { certificatePem, privateKeyPem } = await makeCertificate(authority, {
      commonName: 'other.local',
      names: { dns: ['other.local'], ips: [] },
      serial: '02',
      ...dates,
      purpose: 'server',
    });
    const server = createTlsServer({ cert: certificatePem, key: privateKeyPem }, (_request, response) =>
      response.end(),
    );
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    t.after(() => server.closeAllConnections());
    t.after(() => server.close());
    const url = new URL(`https://localhost:${(server.address() as { port: number }).port}/`);
    const { certificatePem: caPem } = authority;
    assert.equal(
      await failureOf(clientOf(t, { caPem }), url),
      'The certificate of the server is not for the name localhost.',
    );
    assert.equal(
      await failureOf(clientOf(t), url),
      'The certificate of HOST is of an authority that is not trusted here: give its certificate.',
    );
  });
});

test('an answer comes whole, with the pause that the server asks for', async (t) => {
  const url = await serving(t, (request, response) => {
    request.resume();
    request.on('end', () => response.writeHead(503, { 'retry-after': '7' }).end('later'));
  });
  const answer = await clientOf(t).send({ method: 'POST', url, headers: {}, body: Buffer.from('a') }, NEVER);
  assert.deepEqual(answer, { status: 503, retryAfterS: 7, text: 'later' });
});

test('a request that is cancelled ends at once', async (t) => {
  const url = await serving(t, () => undefined);
  const stop = new AbortController();
  const sent = clientOf(t).send({ method: 'GET', url, headers: {} }, stop.signal);
  stop.abort(new Error('no longer wanted'));
  await assert.rejects(sent, /no longer wanted/);
});

test('a server that ends every connection after one answer counts as restarted three times only', async (t) => {
  const url = await serving(t, ({ socket }, response) => void response.end('ok', () => socket.destroySoon()));
  const system = createSystemClock();
  t.after(() => system.close());
  let nowMs = 0;
  const clock = { setTimer: system.setTimer.bind(system), monotonicMs: () => (nowMs += 10_000) };
  const client = clientOf(t, { clock });
  const counted: number[] = [];
  while (counted.length < 6)
    try {
      await client.send({ method: 'POST', url, headers: {} }, NEVER);
      counted.push(client.reconnects);
    } catch (error) {
      // The end of the connection before was not seen yet.
      assert.ok(error instanceof HttpFailure, String(error));
    }
  assert.deepEqual(counted, [0, 1, 2, 3, 3, 3]);
});
