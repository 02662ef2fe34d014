/** Servers that answer slowly, half, wrongly or not at all: each is a sentence. */
import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer as createNetServer, type Socket } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { createSystemClock, nextTurn } from '../../../src/platform/clock/index.ts';
import { HttpClient, HttpFailure, type HttpClientOptions } from '../../../src/platform/http-client/index.ts';
import { makeAuthority, makeCertificate } from '../../../src/platform/tls/certificates.ts';
import { runs } from '../../support/runs.ts';
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

/** Ends each connection when it is told, as a server that starts again or has enough of an idle one. */
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

test('another connection counts where the one before ended soon after it was used', async (t) => {
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

/** Refuses some requests, and says some of its answers again, so many turns of the event loop later. */
async function saysAgain(t: TestContext, plan: readonly { isRefused: boolean; againAfter: number }[]) {
  const stored = new Set<string>();
  const said: Promise<unknown>[] = [];
  let asked = 0;
  const server = createNetServer((socket) => {
    socket.on('error', () => socket.destroy());
    socket.on('data', (bytes) => {
      const name = /\r\n\r\n(.+)$/.exec(String(bytes))?.[1];
      if (name === undefined) return;
      const { isRefused, againAfter } = plan[asked++ % plan.length] ?? assert.fail();
      if (!isRefused) stored.add(name);
      const answer = `HTTP/1.1 ${isRefused ? 400 : 200} x\r\nContent-Length: 0\r\n\r\n`;
      socket.write(answer);
      if (againAfter === 0) return;
      const closed = new Promise((resolve) => socket.once('close', resolve));
      said.push(turns(againAfter).then(() => socket.write(answer) && closed));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = new URL(`http://127.0.0.1:${(server.address() as { port: number }).port}/write`);
  return { url, stored, allIsSaid: () => Promise.all(said) };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

test('a server that says its answers again never makes a request that it refused look taken', async (t) => {
  const step = fc.record({
    isRefused: fc.boolean(),
    againAfter: fc.nat(8),
    turnsLater: fc.nat(8),
    isMuchLater: fc.boolean(),
  });
  const system = createSystemClock();
  t.after(() => system.close());
  let [wrong, all] = [0, 0];
  const property = fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (plan) => {
    const { url, stored, allIsSaid } = await saysAgain(t, plan);
    let nowMs = 0;
    const client = clientOf(t, {
      clock: { setTimer: system.setTimer.bind(system), monotonicMs: () => nowMs },
    });
    for (const [index, { turnsLater, isMuchLater }] of plan.entries()) {
      const call = { method: 'POST', url, headers: {}, body: Buffer.from(`sample ${index}`) } as const;
      const { status } = await client.send(call, NEVER).catch(() => ({ status: 0 }));
      all++;
      if ((status === 200) !== stored.has(`sample ${index}`)) wrong++;
      await turns(turnsLater);
      if (!isMuchLater) continue;
      await allIsSaid();
      nowMs += 1_000;
    }
    client.close();
  });
  await fc.assert(property, { numRuns: runs(100) });
  assert.deepEqual([wrong, all > 0], [0, true]);
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
  test('when nobody listens', async (t) => {
    const url = new URL(`http://127.0.0.1:${await freePort()}/`);
    assert.equal(await failureOf(clientOf(t), url), 'Nothing listens at HOST.');
  });

  test('when no answer comes in time', async (t) => {
    const url = await serving(t, () => undefined);
    assert.equal(await failureOf(clientOf(t, { timeoutMs: 50 }), url), 'HOST did not answer within 0.05 s.');
  });

  test('when half an answer comes', async (t) => {
    const url = await serving(t, (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half');
      setImmediate(() => response.destroy());
    });
    assert.equal(await failureOf(clientOf(t), url), 'HOST ended the connection before it had answered.');
  });

  test('when the answer does not end', async (t) => {
    const url = await serving(t, (_request, response) => void response.end('x'.repeat(2_000)));
    assert.match(await failureOf(clientOf(t), url), /^The answer is longer than 1000 bytes/);
  });

  test('when the certificate is of another name, or of an authority that nobody trusts', async (t) => {
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

test('a request that is not wanted any more ends at once', async (t) => {
  const url = await serving(t, () => undefined);
  const stop = new AbortController();
  const sent = clientOf(t).send({ method: 'GET', url, headers: {} }, stop.signal);
  stop.abort(new Error('no longer wanted'));
  await assert.rejects(sent, /no longer wanted/);
});

test('a server that ends every connection after one answer is taken for one that started anew three times', async (t) => {
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
