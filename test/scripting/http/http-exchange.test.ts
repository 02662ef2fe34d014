import assert from 'node:assert/strict';
import https from 'node:https';
import net, { type AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { deflateRawSync, deflateSync } from 'node:zlib';
import { LIMITS } from '../../../src/lib/limits.ts';
import { exchangeHttp } from '../../../src/scripting/http/index.ts';
import { startBench } from '../../platform/tls/support.ts';
import { TestClock } from '../../support/test-clock.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok';

/** A server of bytes: what each connection does with the next piece it reads. */
async function serve(
  t: TestContext,
  onData: (socket: net.Socket, text: string, connection: number, piece: number) => void,
): Promise<string> {
  const sockets: net.Socket[] = [];
  const server = net.createServer((socket) => {
    const connection = sockets.push(socket);
    let pieces = 0;
    socket.on('data', (bytes) => onData(socket, bytes.toString('latin1'), connection, ++pieces));
    // A client may hang up as well.
    socket.on('error', () => socket.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()));
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const clock = new TestClock();

/** The body of the answer, or what went wrong. */
async function ask(method: string, url: string, headers: [string, string][] = []): Promise<string> {
  const body = method === 'POST' ? Buffer.from('x') : undefined;
  const request = { method, url, headers, body, timeoutMs: 10_000, insecureTls: false, jar: undefined };
  const answer = await exchangeHttp(request, { clock, limits: LIMITS.lua });
  return typeof answer === 'string' ? answer : answer.body.toString();
}

describe('a kept connection', () => {
  /** Answers the first request of each connection, and hangs up when it reads a second one. */
  async function impatient(t: TestContext): Promise<{ url: string; read: string[] }> {
    const read: string[] = [];
    const url = await serve(t, (socket, text, connection, piece) => {
      read.push(`${connection}: ${text.split(' ', 1)[0]}`);
      if (piece > 1) socket.destroy();
      else socket.write(OK);
    });
    return { url, read };
  }

  test('a kept connection is replaced when its server closes it at the moment of the next GET', async (t) => {
    const { url, read } = await impatient(t);
    for (let times = 0; times < 3; times += 1) assert.equal(await ask('GET', url), 'ok');
    assert.deepEqual(read, ['1: GET', '1: GET', '2: GET', '2: GET', '3: GET']);
  });

  test('a kept connection carries no POST, which must not be sent twice', async (t) => {
    const { url, read } = await impatient(t);
    for (const method of ['GET', 'POST', 'POST']) assert.equal(await ask(method, url), 'ok');
    assert.deepEqual(read, ['1: GET', '2: POST', '3: POST']);
  });

  test('a kept connection carries fifty GET requests one after the other', async (t) => {
    const used: number[] = [];
    const url = await serve(t, (socket, _text, connection) => {
      used.push(connection);
      socket.write(OK);
    });
    for (let times = 0; times < 50; times += 1) assert.equal(await ask('GET', url), 'ok');
    assert.deepEqual(new Set(used), new Set([1]));
  });

  test('a kept connection is closed when more than one answer came over it, and the next request gets its own', async (t) => {
    const url = await serve(t, (socket, text) => {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${text.charAt(5)}${OK}`);
    });
    assert.equal(await ask('GET', `${url}a`), 'a');
    assert.equal(await ask('GET', `${url}b`), 'b');
  });

  test('a kept connection is named as reset when the server closes it before the first answer', async (t) => {
    const url = await serve(t, (socket) => socket.destroy());
    assert.equal(await ask('GET', url), 'connection reset');
  });
});

test('bytes that a server sends beyond the length of its answer are left out', async (t) => {
  const url = await serve(t, (socket) => socket.end(`${OK} and more`));
  assert.equal(await ask('GET', url), 'ok');
});

describe('a request says once where its body ends, whatever the script says about it:', () => {
  for (const [name, value] of [
    ['Content-Length', '1'],
    ['content-length', '500'],
    ['Transfer-Encoding', 'chunked'],
  ] as const)
    test(`a request has one body length, whatever the script sets: ${name}: ${value}`, async (t) => {
      const texts: string[] = [];
      const url = await serve(t, (socket, text) => {
        texts.push(text);
        socket.write(OK);
      });
      assert.equal(await ask('POST', url, [[name, value]]), 'ok');
      const lines = texts.join('').match(/^(content-length|transfer-encoding):.*$/gim);
      assert.deepEqual(lines, ['Content-Length: 1']);
    });
});

test('a server without TLS is reported in one line', async (t) => {
  const url = await serve(t, (socket) => socket.end(OK));
  assert.equal(await ask('GET', url.replace('http:', 'https:')), 'tls: wrong version number');
});

test('a certificate that is not accepted names the option that accepts it', async (t) => {
  const tls = await startBench(t).open();
  const server = https.createServer(tls.serverContext(), (_request, response) => response.end('ok'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => void server.close());
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  assert.match(await ask('GET', url), /^tls: .*certificate.*; with the option insecure_tls the certificate/);
});

describe('an answer of a device that is careless', () => {
  for (const [fault, bytes] of [
    ['lines that end with a line feed alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['no length and lines of HTTP/1.0', 'HTTP/1.0 200 OK\nServer: meter\n\nok'],
    ['a space before a colon', 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok'],
    [
      'a space before the colon of any header',
      'HTTP/1.1 200 OK\r\nX : y\r\nZ\t: 1\r\nContent-Length: 2\r\n\r\nok',
    ],
    ['the same length twice', 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\ncontent-length: 2\r\n\r\nok'],
    ['the same length twice in a line', 'HTTP/1.1 200 OK\nContent-Length: 2, 2\n\nok'],
    [
      'a head for information first',
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 2\r\n\r\nok',
    ],
    ['a byte order mark', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n\u00ef\u00bb\u00bfok'],
    [
      'a length beside chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0\r\n\r\n',
    ],
    ['a control character in a header', 'HTTP/1.1 200 OK\r\nServer: a\u0001b\r\nContent-Length: 2\r\n\r\nok'],
  ] as const)
    test(`an answer of a device that is careless is understood: ${fault}`, async (t) => {
      const url = await serve(t, (socket) => socket.end(bytes, 'latin1'));
      assert.equal(await ask('GET', url), 'ok');
    });

  test('an answer of a device that is careless is understood byte by byte, over a connection that is used again', async (t) => {
    const bytes = 'HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\nok';
    const writeFrom = (socket: net.Socket, at: number): void => {
      if (at < bytes.length) socket.write(bytes.charAt(at), () => writeFrom(socket, at + 1));
    };
    const url = await serve(t, (socket) => writeFrom(socket, 0));
    for (let times = 0; times < 3; times += 1) assert.equal(await ask('GET', url), 'ok');
  });

  test('an answer of a device that is careless is refused when its lengths differ', async (t) => {
    const bytes = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok';
    const url = await serve(t, (socket) => socket.end(bytes));
    assert.match(await ask('GET', url), /Content-Length/);
  });

  test('an answer of a device that is careless is refused at once when it is no HTTP', async (t) => {
    const url = await serve(t, (socket) => socket.write('SSH-2.0-dropbear'));
    assert.match(await ask('GET', url), /Parse Error/);
  });

  test('an answer of a device that is careless becomes UTF-8 when its charset is another one', async (t) => {
    for (const [charset, body] of [
      ['iso-8859-1', 'F\u00fchler'],
      ['"Latin1"', 'F\u00fchler'],
      ['utf-8', '\u00ef\u00bb\u00bfF\u00c3\u00bchler'],
      ['windows-1252', 'F\u00fchler'],
    ] as const) {
      const head = `HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=${charset}\r\n\r\n`;
      const url = await serve(t, (socket) => socket.end(head + body, 'latin1'));
      assert.equal(await ask('GET', url), 'F\u00fchler', charset);
    }
    const unknown = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=klingon\r\n\r\nok';
    assert.equal(await ask('GET', await serve(t, (socket) => socket.end(unknown))), 'ok');
  });

  test('an answer of a device that is careless is decompressed with the envelope of its method and without', async (t) => {
    for (const deflated of [deflateSync('ok'), deflateRawSync('ok')]) {
      const url = await serve(t, (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n');
        socket.end(deflated);
      });
      assert.equal(await ask('GET', url), 'ok');
    }
  });

  test('an endless row of informational answers ends the request', async (t) => {
    const flood = 'HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(5_000);
    const url = await serve(t, (socket) => {
      const pump = (): void => void (socket.writable && socket.write(flood, () => setImmediate(pump)));
      pump();
    });
    for (const method of ['GET', 'POST']) assert.equal(await ask(method, url), '1xx answers without an end');
  });

  test('an answer that switches to another protocol ends the request', async (t) => {
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
    const url = await serve(t, (socket) => socket.write(switching));
    assert.equal(await ask('GET', url), 'the connection was closed without an answer');
    const tunnel = await serve(t, (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    assert.match(await ask('CONNECT', tunnel), /closed without an answer|not supported|reset/);
  });
});
