import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { LIMITS } from '../../../src/lib/limits.ts';
import { route } from '../../../src/platform/http/index.ts';
import { until } from '../../support/until.ts';
import { ask, firstError, parseAnswer, raw, type RawSocket, serve } from './support.ts';

const MIB = 1_048_576;

describe('a body that is too large', () => {
  test('a body that is too large is 413 by the length it declares, before it is sent', async (t) => {
    const { port } = await serve(t);
    const { received, socket } = await raw(
      t,
      port,
      `POST /v3/things HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: ${MIB + 1}\r\n\r\n`,
    );
    await until(() => received().endsWith(']}'));
    const answer = parseAnswer(received());
    assert.equal(answer.status, 413);
    assert.deepEqual(firstError(answer), {
      code: 'payload_too_large',
      message: `The body is larger than ${MIB} bytes.`,
      details: { limit: MIB },
    });
    socket.destroy();
  });

  test('a body without a declared length is 413 as soon as more than the limit has arrived', async (t) => {
    const { origin, calls } = await serve(t);
    let sentBytes = 0;
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (sentBytes >= 4 * MIB) controller.close();
        else controller.enqueue(Buffer.alloc(65_536, ' '));
        sentBytes += 65_536;
      },
    });
    const answer = await ask(origin, 'POST', '/v3/things', { body });
    assert.equal(`${answer.status} ${answer.code}`, '413 payload_too_large');
    assert.equal(calls.length, 0);
  });

  test('a body exactly as large as the limit is read', async (t) => {
    const { ask } = await serve(t);
    const text = JSON.stringify({ name: 'a' });
    const padded = (sizeBytes: number): string => text + ' '.repeat(sizeBytes - text.length);
    assert.equal((await ask('POST', '/v3/things', { body: padded(MIB) })).status, 200);
    assert.equal((await ask('POST', '/v3/things', { body: padded(MIB + 1) })).status, 413);
  });

  test('a body of an upload has its own limit, and the connection goes on after a refusal', async (t) => {
    const { port, ask } = await serve(t);
    assert.deepEqual((await ask('POST', '/v3/upload', { body: 'x'.repeat(2_000) })).json, { size: 2_000 });
    assert.deepEqual(firstError(await ask('POST', '/v3/upload', { body: 'x'.repeat(2_001) }))?.details, {
      limit: 2_000,
    });
    const { closed } = await raw(
      t,
      port,
      `POST /v3/upload HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 2001\r\n\r\n${'x'.repeat(2_001)}` +
        'GET /v3/things/slug HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nConnection: close\r\n\r\n',
    );
    assert.deepEqual(
      [...(await closed).matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]),
      ['413', '200'],
    );
  });

  test('a caller who goes on sending a body after its refusal is cut off', async (t) => {
    const { port, clock } = await serve(t);
    const { received, closed } = await raw(
      t,
      port,
      'POST /v3/things HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 99000000\r\n\r\nbegun',
    );
    await until(() => received().endsWith('}'));
    await clock.advance(LIMITS.http.requestTimeoutMs);
    assert.equal(parseAnswer(await closed).status, 413);
  });
});

describe('a request line of no use', () => {
  for (const line of ['CONNECT a:80 HTTP/1.1', 'SING /v3/things HTTP/1.1', 'GET /v3/things HTTP/3.0'])
    test(`a request line of no use is 400 with the envelope, and the connection ends: ${line}`, async (t) => {
      const { port } = await serve(t);
      const { closed } = await raw(t, port, `${line}\r\nHost: a\r\n\r\n`);
      const answer = parseAnswer(await closed);
      assert.deepEqual([answer.status, answer.headers.get('connection')], [400, 'close']);
      assert.equal(firstError(answer)?.['code'], 'invalid_path');
    });
});

describe('nesting', () => {
  test('nesting deeper than the limit is 400', async (t) => {
    const { ask } = await serve(t);
    const nested = (depth: number): string =>
      `{"name":"a","more":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;
    const answer = await ask('POST', '/v3/things', { body: nested(LIMITS.http.jsonDepth + 1) });
    assert.deepEqual(firstError(answer), {
      code: 'invalid_body',
      message: 'The body nests deeper than 64 arrays and objects.',
      details: { field: '' },
    });
    assert.equal((await ask('POST', '/v3/things', { body: nested(400_000) })).status, 400);
    assert.equal((await ask('POST', '/v3/things', { body: nested(LIMITS.http.jsonDepth) })).status, 200);
  });
});

describe('headers', () => {
  test('headers larger than the limit are 431 with the envelope', async (t) => {
    const { port } = await serve(t);
    const head = (length: number): string =>
      `GET /v3/things/slug HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nConnection: close\r\nX: ${'x'.repeat(length)}\r\n\r\n`;
    const tooLarge = parseAnswer(await (await raw(t, port, head(LIMITS.http.headerBytes))).closed);
    assert.equal(tooLarge.status, 431);
    assert.deepEqual(firstError(tooLarge), {
      code: 'payload_too_large',
      message: 'The headers are larger than 65536 bytes.',
      details: { limit: 65_536 },
    });
    assert.equal(tooLarge.headers.get('content-type'), 'application/json');
    const long = parseAnswer(await (await raw(t, port, head(LIMITS.http.headerBytes - 200))).closed);
    assert.equal(long.status, 200);
  });

  test('headers count in the request line too', async (t) => {
    const { port } = await serve(t);
    const { closed } = await raw(
      t,
      port,
      `GET /v3/${'x'.repeat(LIMITS.http.headerBytes)} HTTP/1.1\r\nHost: a\r\n\r\n`,
    );
    assert.equal(parseAnswer(await closed).status, 431);
  });

  test('headers are 408 when they come too slowly, and a connection without any is closed', async (t) => {
    const { port } = await serve(t, {
      http: { headersTimeoutMs: 60, requestTimeoutMs: 100, timeoutCheckIntervalMs: 20 },
    });
    const slow = await raw(t, port, 'GET /v3/things/slug HTTP/1.1\r\nHost: a\r\n');
    const drip = setInterval(() => slow.socket.write('X: y\r\n'), 10);
    t.after(() => clearInterval(drip));
    const silent = await raw(t, port, '');
    const answer = parseAnswer(await slow.closed);
    assert.equal(`${answer.status} ${answer.code}`, '408 request_timeout');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    await silent.closed;
  });

  test('headers with a body that comes too slowly are 408, and no internal error', async (t) => {
    const { port, lines, clock } = await serve(t);
    const { closed } = await raw(
      t,
      port,
      'POST /v3/things HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 1000\r\n\r\n{',
    );
    await until(() => clock.waiting > 0);
    await clock.advance(LIMITS.http.requestTimeoutMs);
    const answer = parseAnswer(await closed);
    assert.equal(`${answer.status} ${answer.code}`, '408 request_timeout');
    await until(() => lines.some(({ message }) => message === 'request'));
    assert.equal(lines.filter(({ level }) => level === 'error').length, 0);
  });

  test('headers may come with a large body as long as it arrives, and not a minute longer', async (t) => {
    const uploaded: number[] = [];
    const take = route({
      operation: 'take',
      POST: ['/v3/take'],
      role: 'OWNER',
      body: 'stream',
      bodyBytes: 64 * MIB,
      handle: async (call) => {
        for await (const { length } of call.stream()) uploaded.push(length);
        return {};
      },
    });
    const { port, clock } = await serve(t, { routes: [take] });
    const piece = LIMITS.http.requestProgressBytes;
    const pieces = 6;
    const head = `POST /v3/take HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: ${pieces * piece}\r\n\r\n`;
    const bytes = (): number => uploaded.reduce((sum, length) => sum + length, 0);
    for (const sent of [pieces, pieces - 1]) {
      uploaded.length = 0;
      const { socket, received, closed } = await raw(t, port, head);
      await until(() => clock.waiting > 0);
      for (let count = 1; count <= sent; count++) {
        socket.write('x'.repeat(piece));
        await until(() => bytes() === count * piece);
        if (count < pieces) assert.equal(received(), '');
        if (count < sent) await clock.advance(LIMITS.http.requestTimeoutMs);
      }
      if (sent < pieces) {
        // What came in the last minute counts; in the next one nothing comes.
        await clock.advance(LIMITS.http.requestTimeoutMs);
        assert.equal(received(), '');
        await clock.advance(LIMITS.http.requestTimeoutMs);
        assert.equal(parseAnswer(await closed).status, 408);
      } else {
        await until(() => received().includes('HTTP/1.1 200'));
        socket.destroy();
      }
    }
  });
});

const TOKEN = 'Host: a\r\nX-Service-Auth-Token: owner\r\n';
const WAIT = `POST /v3/wait HTTP/1.1\r\n${TOKEN}Content-Length: 0\r\n\r\n`;
const THING = `GET /v3/things/slug HTTP/1.1\r\n${TOKEN}\r\n`;

/** A connection kept alive after one good answer. */
async function loggedIn(t: TestContext, port: number, token = 'owner'): Promise<RawSocket> {
  const opened = await raw(t, port, THING.replace('owner', token));
  await until(() => opened.received().includes('"thing"'));
  return opened;
}

describe('connections', () => {
  test('connections beyond the number of one address are closed and counted; closing one makes room', async (t) => {
    const { port, metrics, origin } = await serve(t, { http: { connectionsPerAddress: 2 } });
    const held = [await loggedIn(t, port), await loggedIn(t, port)];
    const refused = await raw(t, port, 'GET /v3/nothing HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await refused.closed, '');
    assert.match(await metrics.text(), /^gateway_http_connections_refused_total 1$/m);
    assert.match(await metrics.text(), /^gateway_http_connections 2$/m);
    held[0]?.socket.destroy();
    await until(async () => /^gateway_http_connections 1$/m.test(await metrics.text()));
    assert.equal((await ask(origin, 'GET', '/v3/nothing', { headers: { Connection: 'close' } })).status, 404);
  });

  test('connections are closed before anything is read when they come too fast from one address', async (t) => {
    const { port, metrics } = await serve(t, { http: { connectsPerSecond: 0.001, connectBurst: 2 } });
    await raw(t, port, '');
    await raw(t, port, '');
    const refused = await raw(t, port, 'GET /v3/nothing HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await refused.closed, '');
    assert.match(await metrics.text(), /^gateway_http_connections_refused_total 1$/m);
  });

  test('connections beyond the number in all are closed', async (t) => {
    const { port } = await serve(t, { http: { connections: 1 } });
    await loggedIn(t, port);
    const refused = await raw(t, port, 'GET /v3/nothing HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.equal(await refused.closed, '');
  });

  test('connections without a token give way to the next, the oldest first; logged-in ones stay', async (t) => {
    const { port, metrics } = await serve(t, { http: { connectionsPerAddress: 3 } });
    const insider = await loggedIn(t, port);
    const [oldest, younger] = [await raw(t, port, ''), await raw(t, port, '')];
    const next = await loggedIn(t, port);
    await oldest.closed;
    await raw(t, port, '');
    await younger.closed;
    assert.match(await metrics.text(), /^gateway_http_connections_gave_way_total 2$/m);
    assert.deepEqual([insider.socket.destroyed, next.socket.destroyed], [false, false]);
  });

  test('connections beyond the share of a token give way like those without one', async (t) => {
    const { port, origin } = await serve(t, {
      http: { connections: 3, connectionsPerAddress: 3, connectionsPerIdentity: 1 },
    });
    const [kept, beyond] = [await loggedIn(t, port), await loggedIn(t, port)];
    await loggedIn(t, port, 'user');
    assert.equal((await ask(origin, 'GET', '/v3/things/slug')).status, 200);
    await beyond.closed;
    assert.equal(kept.socket.destroyed, false);
  });

  test('connections are read on only after the answer, and are closed after the limit of requests sent ahead', async (t) => {
    const { port, metrics, calls, release } = await serve(t, { http: { pipelinedRequests: 40 } });
    const held = await raw(t, port, `${WAIT}${THING.repeat(900)}`);
    await until(() => calls.length === 1);
    assert.equal(held.received(), '');
    release();
    const statuses = [...(await held.closed).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status);
    assert.ok(statuses.length > 30 && statuses.length <= 41, `${statuses.length}`);
    assert.deepEqual(new Set(statuses), new Set(['200']));
    assert.match(await metrics.text(), /^gateway_http_pipelines_refused_total 1$/m);
  });

  test('connections make no objects of requests that wait, however short these are', async (t) => {
    const { port, calls, release } = await serve(t);
    let started = 0;
    const count = (): void => void (started += 1);
    subscribe('http.server.request.start', count);
    t.after(() => unsubscribe('http.server.request.start', count));
    const short = 'GET /x HTTP/1.1\r\nHost: a\r\n\r\n';
    const held = await raw(t, port, `${WAIT}${short.repeat(20)}`);
    await until(() => calls.length === 1);
    assert.equal(started, 1);
    release();
    await until(() => held.received().match(/HTTP\/1\.1 404/g)?.length === 20);
    assert.equal(started, 21);
  });

  test('connections that sent ahead start one request a turn of the event loop, with a body too', async (t) => {
    const { port, calls, release } = await serve(t);
    const post = `POST /v3/things HTTP/1.1\r\n${TOKEN}Content-Length: 1\r\n\r\nx`;
    const floods = await Promise.all(
      Array.from({ length: 20 }, () => raw(t, port, `${WAIT}${post.repeat(20)}`)),
    );
    await until(() => calls.length === floods.length);
    let [inTurn, most] = [0, 0];
    // It begins in the middle of a turn, so that it sees two of them.
    const count = (): void => {
      if (++inTurn === 1) setImmediate(() => void (inTurn = 0));
      most = Math.max(most, inTurn);
    };
    subscribe('http.server.request.start', count);
    t.after(() => unsubscribe('http.server.request.start', count));
    release();
    const answers = (): number =>
      floods.reduce((sum, { received }) => sum + (received().match(/HTTP\/1\.1 4/g)?.length ?? 0), 0);
    await until(() => answers() === 400);
    assert.ok(most <= 2, `${most} in one turn`);
  });

  test('connections take requests wherever the network cut them', async (t) => {
    const { port, ask } = await serve(t);
    const body = JSON.stringify({ name: 'a\r\n\r\nb' });
    const head = 'POST /v3/things HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\n';
    const whole = `${head}Content-Length: ${body.length}\r\n\r\n${body}`;
    const chunked = `${head}Transfer-Encoding: chunked\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
    const all = `${whole}${chunked}${whole}${THING}`;
    const { status } = await ask('POST', '/v3/things', { body });
    for (const end of [...all.matchAll(/\r\n\r\n/g)].map(({ index }) => index))
      for (const cut of [end + 1, end + 3, end + 5]) {
        const { socket, received } = await raw(t, port, all.slice(0, cut));
        await pause(2);
        socket.write(all.slice(cut));
        await until(() => received().match(/HTTP\/1\.1 \d+/g)?.length === 4);
        assert.deepEqual(received().match(/HTTP\/1\.1 \d+/g), [
          ...Array.from({ length: 3 }, () => `HTTP/1.1 ${status}`),
          'HTTP/1.1 200',
        ]);
        socket.destroy();
      }
  });

  test('connections count against their address when they sent too much ahead', async (t) => {
    const http = { pipelinedRequests: 3, connectBurst: 22, connectsPerPipeline: 20 };
    const { port } = await serve(t, { http });
    assert.equal(await (await raw(t, port, THING.repeat(10))).closed.then(() => 'closed'), 'closed');
    const next = await raw(t, port, THING.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n'));
    assert.match(await next.closed, /^HTTP\/1\.1 200/);
    const refused = await raw(t, port, THING);
    assert.equal(await refused.closed, '');
  });

  test('connections have one request in hand at a time; those sent ahead of a connection that ends are forgotten', async (t) => {
    const { port, calls, release, origin } = await serve(t);
    const held = await raw(t, port, `${WAIT}${THING}${THING}`);
    await until(() => calls.length === 1);
    held.socket.resetAndDestroy();
    await until(() => calls[0]?.signal.aborted ?? false);
    release();
    assert.equal((await ask(origin, 'GET', '/v3/things/slug')).status, 200);
    assert.equal(calls.length, 2);
  });

  test('connections get a refusal of what is no HTTP behind an answer as well as before one', async (t) => {
    const { port } = await serve(t);
    const { socket, received, closed } = await raw(t, port, THING);
    await until(() => received().includes('"thing"'));
    socket.write('hello\r\n\r\n');
    const [, first, second] = (await closed).split('HTTP/1.1 ');
    assert.match(first ?? '', /^200 /);
    const { status, code } = parseAnswer(`HTTP/1.1 ${second}`);
    assert.equal(`${status} ${code}`, '400 invalid_path');
  });

  test('connections on which nothing moves are closed, not those that take their time', async (t) => {
    const { port, release, calls } = await serve(t, { http: { silenceTimeoutMs: 50 } });
    const { closed } = await raw(
      t,
      port,
      'POST /v3/wait HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 0\r\n\r\n',
    );
    assert.equal(await closed, '');
    await until(() => calls[0]?.signal.aborted ?? false);
    release();
    const patient = await serve(t, { http: { silenceTimeoutMs: 1_500 } });
    const talking = await raw(t, patient.port, 'GET /v3/things/slug HTTP/1.1\r\nHost: a\r\n');
    for (let index = 0; index < 6; index++) {
      await pause(300);
      talking.socket.write('X: y\r\n');
    }
    talking.socket.write('Connection: close\r\n\r\n');
    assert.equal(parseAnswer(await talking.closed).status, 401);
  });
});
