/** Requests that are answered before their body was read: what was promised of the connection holds. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import { parseAnswer, raw, serve } from './support.ts';

const OWNER = 'Host: a\r\nX-Service-Auth-Token: owner\r\n';
const THING = `GET /v3/things/slug HTTP/1.1\r\n${OWNER}\r\n`;
/** The library closes what still comes so long behind an answer. */
const LIBRARY_WAITS_MS = 500;

const statusesOf = (received: string): string[] =>
  [...received.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status = '']) => status);

const REFUSALS: [status: string, head: string][] = [
  ['400', `GET /v3/things?limit=x HTTP/1.1\r\n${OWNER}`],
  ['400', 'POST /v3/things HTTP/1.1\r\nX-Service-Auth-Token: owner\r\n'],
  ['401', 'POST /v3/things HTTP/1.1\r\nHost: a\r\n'],
  ['403', 'POST /v3/things HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: nobody\r\n'],
  ['404', `POST /v3/nothing HTTP/1.1\r\n${OWNER}`],
  ['404', `POST /v3/things/unknown/touch HTTP/1.1\r\n${OWNER}`],
  ['405', `PUT /v3/things HTTP/1.1\r\n${OWNER}`],
  ['413', `POST /v3/upload HTTP/1.1\r\n${OWNER}`],
  ['200', `POST /v3/things/slug/nudge HTTP/1.1\r\n${OWNER}`],
  ['200', `GET /v3/things/slug HTTP/1.1\r\n${OWNER}`],
];

describe('a body that nobody reads', () => {
  test('an unread body is discarded, however slowly it comes, and the connection lives on', async (t) => {
    const { port } = await serve(t);
    await Promise.all(
      REFUSALS.map(async ([status, head]) => {
        const { socket, received } = await raw(t, port, `${head}Content-Length: 3000\r\n\r\nbegun`);
        await until(() => received().endsWith('}'));
        const { headers } = parseAnswer(received());
        assert.equal(headers.get('connection'), 'keep-alive', head);
        await pause(LIBRARY_WAITS_MS + 300);
        socket.write(`${'x'.repeat(2_995)}${THING}`);
        await until(() => statusesOf(received()).length === 2 || socket.destroyed);
        assert.deepEqual(statusesOf(received()), [status, '200'], head);
      }),
    );
  });

  test('an unread body is discarded while the caller sends it, and neither the answer nor the connection is lost', async (t) => {
    const { port } = await serve(t);
    const large = 8 * 1_048_576;
    const piece = Buffer.alloc(65_536, 'x');
    const bodies: [head: string, chunk: Buffer, end: string][] = [
      [`Content-Length: ${large}`, piece, ''],
      [
        'Transfer-Encoding: chunked',
        Buffer.concat([Buffer.from('10000\r\n'), piece, Buffer.from('\r\n')]),
        '0\r\n\r\n',
      ],
    ];
    for (const [status, line] of REFUSALS)
      for (const [head, chunk, end] of bodies) {
        const about = `${status} ${line} ${head}`;
        const { socket, received } = await raw(t, port, `${line}${head}\r\n\r\n`);
        const failures: Error[] = [];
        socket.on('error', (error) => failures.push(error));
        // Like a client that looks at nothing before all is sent.
        socket.pause();
        for (let sent = 0; sent < large; sent += piece.length)
          if (!socket.write(chunk)) await Promise.race([once(socket, 'drain'), once(socket, 'close')]);
        socket.write(end + THING);
        socket.resume();
        await until(() => statusesOf(received()).length === 2 || socket.destroyed);
        assert.deepEqual(failures, [], about);
        assert.deepEqual(statusesOf(received()), [status, '200'], about);
      }
  });

  test('an unread body is no departure of the caller once the answer is sent', async (t) => {
    const { port, metrics } = await serve(t);
    const { socket, received } = await raw(
      t,
      port,
      'POST /v3/things HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n',
    );
    await until(() => received().endsWith('}'));
    socket.destroy();
    await until(async () => /^gateway_http_connections 0$/m.test(await metrics.text()));
    assert.match(await metrics.text(), /^gateway_http_callers_gone_total 0$/m);
  });
});

describe('a request that waits to be told to go on', () => {
  const EXPECT = 'Expect: 100-continue\r\nContent-Length: 12\r\n\r\n';

  test('a request with Expect gets 100 when its body is read, and its connection lives on', async (t) => {
    const { port } = await serve(t);
    const { socket, received } = await raw(t, port, `POST /v3/things HTTP/1.1\r\n${OWNER}${EXPECT}`);
    await until(() => received() === 'HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(`{"name":"a"}${THING}`);
    await until(() => statusesOf(received()).length === 3);
    assert.deepEqual(statusesOf(received()), ['100', '200', '200']);
  });

  test('a request with Expect that is refused gets no 100', async (t) => {
    const { port } = await serve(t);
    for (const [status, head] of REFUSALS) {
      if (head.startsWith('GET') || status === '413') continue;
      const { closed } = await raw(t, port, head + EXPECT);
      const answer = await closed;
      assert.deepEqual(statusesOf(answer), [status], head);
      assert.equal(parseAnswer(answer).headers.get('connection'), 'close', head);
    }
  });

  test('a request with Expect behind another one waits for its turn', async (t) => {
    const { port, calls, release } = await serve(t);
    const { socket, received } = await raw(
      t,
      port,
      `POST /v3/wait HTTP/1.1\r\n${OWNER}Content-Length: 0\r\n\r\nPOST /v3/things HTTP/1.1\r\n${OWNER}${EXPECT}`,
    );
    await until(() => calls.length === 1);
    assert.equal(received(), '');
    release();
    await until(() => received().includes('100 Continue'));
    socket.write('{"name":"a"}');
    await until(() => statusesOf(received()).length === 3);
    assert.deepEqual(statusesOf(received()), ['200', '100', '200']);
  });
});
