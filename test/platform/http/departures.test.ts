/** Callers that go away before their answer is complete. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as v from 'valibot';
import { JSON_HEADERS, type Route, route } from '../../../src/platform/http/index.ts';
import { until } from '../../support/until.ts';
import { raw, serve } from './support.ts';

interface Watched {
  routes: Route[];
  /** What the handlers saw. */
  seen: string[];
}

/** One answer that never ends, one that is waited for and one that fails because the caller left. */
function watched(): Watched {
  const seen: string[] = [];
  return {
    seen,
    routes: [
      route({
        operation: 'endless',
        GET: ['/v3/endless'],
        role: 'READONLY',
        handle: (call) => call.streamed(endlessPieces(seen), JSON_HEADERS),
      }),
      route({
        operation: 'late',
        GET: ['/v3/late'],
        role: 'READONLY',
        handle: async (call) => {
          seen.push('waiting');
          await new Promise((resolve) => call.signal.addEventListener('abort', resolve));
          const pieces = endlessPieces(seen);
          const end = pieces.return.bind(pieces);
          pieces.return = (value) => {
            seen.push('cancelled');
            return end(value);
          };
          return call.streamed(pieces, JSON_HEADERS);
        },
      }),
      route({
        operation: 'give_up',
        POST: ['/v3/give_up'],
        role: 'READONLY',
        body: v.object({}),
        handle: async ({ signal }) => {
          seen.push('waiting');
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          seen.push('given up');
          signal.throwIfAborted();
        },
      }),
    ],
  };
}

async function* endlessPieces(seen: string[]): AsyncGenerator<Uint8Array> {
  try {
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      yield new Uint8Array(1_000);
    }
  } finally {
    seen.push('cancelled');
  }
}

const head = (method: string, path: string): string =>
  `${method} ${path} HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 0\r\n\r\n`;

for (const [title, method, path, sign, end] of [
  ['in the middle of an answer end its source', 'GET', '/v3/endless', '', 'cancelled'],
  ['before an answer starts end its source', 'GET', '/v3/late', 'waiting', 'cancelled'],
  ['while they wait abort the signal of the handler', 'POST', '/v3/give_up', 'waiting', 'given up'],
] as const)
  test(`callers that leave ${title} are counted, and cause no log line`, async (t) => {
    const { routes, seen } = watched();
    const { port, lines, metrics, ask } = await serve(t, { routes });
    const { socket, received } = await raw(t, port, head(method, path));
    await until(() => (sign === '' ? received().includes('200 OK') : seen.includes(sign)));
    socket.resetAndDestroy();
    await until(() => seen.includes(end));
    await until(async () => /^gateway_http_callers_gone_total 1$/m.test(await metrics.text()));
    assert.deepEqual(
      lines.filter(({ level }) => level !== 'debug' && level !== 'info'),
      [],
    );
    assert.equal((await ask('GET', '/v3/unknown')).status, 404);
  });
