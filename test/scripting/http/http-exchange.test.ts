import assert from 'node:assert/strict';
import net, { type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { describe, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { deflateRawSync, deflateSync } from 'node:zlib';
import { nextTurn } from '../../../src/platform/clock/index.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { exchangeHttp } from '../../../src/scripting/http/index.ts';
import { runs } from '../../support/runs.ts';
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
/** Longer than a server is watched before its connections are used again. */
const LATER_MS = 1_000;

/** The body of the answer, or what went wrong. */
async function ask(method: string, url: string, headers: [string, string][] = []): Promise<string> {
  const body = method === 'POST' ? Buffer.from('x') : undefined;
  const request = { method, url, headers, body, timeoutMs: 10_000, insecureTls: false, jar: undefined };
  const answer = await exchangeHttp(request, { clock, limits: LIMITS.lua });
  return typeof answer === 'string' ? answer : answer.body.toString();
}

describe('a connection that its server closes when it is used again', () => {
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

  test('costs nobody the answer to what may be asked twice', async (t) => {
    const { url, read } = await impatient(t);
    for (let times = 0; times < 3; times += 1) {
      assert.equal(await ask('GET', url), 'ok');
      clock.spend(LATER_MS);
    }
    assert.deepEqual(read, ['1: GET', '1: GET', '2: GET', '2: GET', '3: GET']);
  });

  test('never has anything else sent twice', async (t) => {
    const { url, read } = await impatient(t);
    for (const method of ['GET', 'POST', 'POST']) {
      assert.equal(await ask(method, url), 'ok');
      clock.spend(LATER_MS);
    }
    assert.deepEqual(read, ['1: GET', '2: POST', '3: POST']);
  });

  test('is told when it was a new one', async (t) => {
    const url = await serve(t, (socket) => socket.destroy());
    assert.equal(await ask('GET', url), 'connection reset');
  });
});

async function after(turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await nextTurn();
}

describe('a server that says more than it was asked', () => {
  /** What it says behind its answer, some time later. */
  const MORE = {
    'its answer again': OK,
    'another answer': OK.replace(/ok$/, 'no'),
    'a body that is longer than its length': 'more',
  };

  /** Answers each request with its path. `say` says more behind the answer to a path, and waits until that had its effect. */
  async function talker(t: TestContext) {
    const used: string[] = [];
    const sockets = new Map<string, net.Socket>();
    const url = await serve(t, (socket, text, connection) => {
      const path = /^\w+ \/(\w+)/.exec(text)?.[1] ?? '';
      used.push(`${connection}: ${path}`);
      sockets.set(path, socket);
      socket.write(`HTTP/1.1 200 OK\r\nContent-Length: ${path.length}\r\n\r\n${path}`);
    });
    const say = async (path: string, more: string): Promise<void> => {
      const socket = sockets.get(path);
      if (!socket || socket.destroyed) return;
      const dropped = once(socket, 'close');
      socket.write(more);
      await dropped;
    };
    return { url, used, say };
  }

  for (const [name, more] of Object.entries(MORE))
    test(`loses the connection, and the next request gets its own answer: ${name}`, async (t) => {
      const { url, used, say } = await talker(t);
      assert.equal(await ask('GET', `${url}a`), 'a');
      await say('a', more);
      for (const path of ['b', 'c']) {
        clock.spend(LATER_MS);
        assert.equal(await ask('GET', `${url}${path}`), path);
      }
      assert.deepEqual(
        used.filter((use) => use.startsWith('1:')),
        ['1: a'],
      );
    });

  test('keeps it after an empty line, which says nothing', async (t) => {
    const used: number[] = [];
    const url = await serve(t, (socket, _text, connection) => {
      used.push(connection);
      socket.write(OK, () => setImmediate(() => socket.write('\r\n')));
    });
    for (let times = 0; times < 3; times += 1) {
      assert.equal(await ask('GET', url), 'ok');
      clock.spend(LATER_MS);
    }
    assert.deepEqual(used, [1, 1, 1]);
  });

  test('is found out by what it says: nothing else is asked over a connection for a second after its answer', async (t) => {
    const { url, used } = await talker(t);
    for (const path of ['a', 'b']) assert.equal(await ask('GET', `${url}${path}`), path);
    clock.spend(LATER_MS);
    for (const path of ['c', 'd']) assert.equal(await ask('GET', `${url}${path}`), path);
    assert.deepEqual(used, ['1: a', '2: b', '1: c', '3: d']);
  });

  test('never gives a request the answer of another, however soon that follows', async (t) => {
    const paths = ['a', 'b', 'c', 'd', 'e', 'f'];
    const property = fc.asyncProperty(
      fc.constantFrom(...Object.values(MORE)),
      fc.nat(6),
      // Answers before it begins to.
      fc.nat(3),
      fc.array(fc.boolean(), { minLength: paths.length, maxLength: paths.length }),
      async (more, turns, silent, isAwaited) => {
        let answers = 0;
        const dropped: Promise<unknown>[] = [];
        const url = await serve(t, (socket, text) => {
          const path = text.charAt(5);
          socket.write(`HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n${path}`);
          answers += 1;
          if (answers <= silent) return;
          dropped.push(once(socket, 'close'));
          void after(turns).then(() => socket.write(more));
        });
        for (const [index, path] of paths.entries()) {
          assert.equal(await ask('GET', `${url}${path}`), path);
          if (!isAwaited[index]) continue;
          // All is said within the second in which a server is watched.
          await Promise.all(dropped);
          clock.spend(LATER_MS);
        }
      },
    );
    await fc.assert(property, { numRuns: runs(20) });
  });
});

test('what a server sends beyond the length of its answer is left out', async (t) => {
  const url = await serve(t, (socket) => socket.end(`${OK} and more`));
  assert.equal(await ask('GET', url), 'ok');
});

describe('a request says once where its body ends, whatever the script says about it:', () => {
  for (const [name, value] of [
    ['Content-Length', '1'],
    ['content-length', '500'],
    ['Transfer-Encoding', 'chunked'],
  ] as const)
    test(`${name}: ${value}`, async (t) => {
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

test('a server without TLS is told apart in one line', async (t) => {
  const url = await serve(t, (socket) => socket.end(OK));
  assert.equal(await ask('GET', url.replace('http:', 'https:')), 'tls: wrong version number');
});

describe('an answer of a device that is careless', () => {
  for (const [fault, bytes] of [
    ['lines that end with a line feed alone', 'HTTP/1.1 200 OK\nContent-Length: 2\n\nok'],
    ['no length and lines of HTTP/1.0', 'HTTP/1.0 200 OK\nServer: meter\n\nok'],
    ['a space before a colon', 'HTTP/1.1 200 OK\r\nContent-Length : 2\r\n\r\nok'],
    [
      'a length beside chunks',
      'HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2 \r\nok\r\n0\r\n\r\n',
    ],
    ['a control character in a header', 'HTTP/1.1 200 OK\r\nServer: a\u0001b\r\nContent-Length: 2\r\n\r\nok'],
  ] as const)
    test(`is understood: ${fault}`, async (t) => {
      const url = await serve(t, (socket) => socket.end(bytes));
      assert.equal(await ask('GET', url), 'ok');
    });

  test('is decompressed with the envelope of its method and without', async (t) => {
    for (const deflated of [deflateSync('ok'), deflateRawSync('ok')]) {
      const url = await serve(t, (socket) => {
        socket.write('HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n');
        socket.end(deflated);
      });
      assert.equal(await ask('GET', url), 'ok');
    }
  });

  test('ends the request also when it is none: another protocol, and nothing', async (t) => {
    const switching = 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n';
    const url = await serve(t, (socket) => socket.write(switching));
    assert.equal(await ask('GET', url), 'the connection was closed without an answer');
    const tunnel = await serve(t, (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    assert.match(await ask('CONNECT', tunnel), /closed without an answer|not supported|reset/);
  });
});
