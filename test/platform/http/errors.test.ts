import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type ErrorKind, GatewayError } from '../../../src/lib/errors.ts';
import { route } from '../../../src/platform/http/index.ts';
import { errorResponse } from '../../../src/platform/http/responses.ts';
import { until } from '../../support/until.ts';
import { firstError, raw, serve } from './support.ts';

const REQUEST = (path: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nX-Request-Id: r-1\r\nConnection: close\r\n\r\n`;

describe('a handler that fails', () => {
  test('a handler that fails is answered with 500 without inner text, which the service log has', async (t) => {
    const { ask, lines } = await serve(t);
    const answer = await ask('GET', '/v3/break/now', { headers: { 'X-Request-Id': 'r-1' } });
    assert.equal(answer.status, 500);
    assert.deepEqual(answer.json, {
      errors: [{ code: 'internal_error', message: 'The gateway failed to answer this request.' }],
    });
    const line = lines.find(({ message }) => message === 'request failed');
    assert.equal(line?.['request_id'], 'r-1');
    assert.match(JSON.stringify(line), /4711/);
  });

  test('a handler that fails ends the connection in the middle of its response, so that nobody takes the part for the whole', async (t) => {
    const { port, lines } = await serve(t);
    const { closed } = await raw(t, port, REQUEST('/v3/break/later'));
    const text = await closed;
    assert.doesNotMatch(text, /\r\n0\r\n\r\n$/);
    const line = lines.find(({ message }) => message === 'request failed');
    assert.equal(line?.['request_id'], 'r-1');
  });
});

describe('what the system refuses for now', () => {
  for (const [code, words] of [
    ['EMFILE', /as many files and connections open as it may/],
    ['ENFILE', /as many files and connections open as it may/],
    ['ERR_WORKER_INIT_FAILED', /cannot begin now.*as many files and connections open as it may/],
    ['SQLITE_CANTOPEN', /cannot be opened now.*as many files and connections open as it may/],
    ['ENOSPC', /^The disk is full.*Make room on it\.$/],
    ['EDQUOT', /^The disk is full/],
    ['EROFS', /^The disk is read-only now/],
    ['EIO', /^The disk fails now/],
  ] as const)
    test(`a refusal of the system is 503 with a remedy, and the log has the cause: ${code}`, async (t) => {
      const failing = route({
        operation: 'fail',
        POST: ['/v3/fail'],
        role: 'OWNER',
        handle: () => {
          const cause = Object.assign(new Error(`${code}: 4711`), { code });
          throw new Error('4711 failed', { cause });
        },
      });
      const { ask, lines } = await serve(t, { routes: [failing] });
      const answer = await ask('POST', '/v3/fail');
      assert.deepEqual(
        [answer.status, answer.code, answer.headers.get('retry-after')],
        [503, 'unavailable', '5'],
      );
      const { message = '' } = firstError(answer) ?? {};
      assert.match(message, words);
      assert.doesNotMatch(message, /4711/);
      const line = lines.find((one) => one.message === 'request failed');
      assert.equal(line?.level, 'warn');
      assert.match(JSON.stringify(line), /4711/);
    });
});

describe('a refusal says when to try again', () => {
  const refusal = (kind: ErrorKind, retryAfterS?: number): GatewayError =>
    new GatewayError(kind, [{ code: 'x', message: 'No.' }], retryAfterS === undefined ? {} : { retryAfterS });
  for (const [error, expected] of [
    [refusal('unavailable'), '5'],
    [refusal('unavailable', 7), '7'],
    [refusal('rate_limited'), '5'],
    [refusal('rate_limited', 1), '1'],
    [refusal('conflict'), undefined],
    [new TypeError('inside'), undefined],
  ] as const)
    test(`a refusal says when to try again after ${expected ?? 'no time'}: ${JSON.stringify(error)}`, () => {
      assert.equal(errorResponse(error).headers.get('retry-after'), expected ?? null);
      if (expected !== undefined)
        assert.equal(errorResponse(error, { 'retry-after': '10' }).headers.get('retry-after'), '10');
    });
});

describe('a caller that goes away', () => {
  test('a caller that goes away is no failure of ours in the middle of its body', async (t) => {
    const { port, lines } = await serve(t);
    const { socket } = await raw(
      t,
      port,
      'POST /v3/things HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 100\r\n\r\n{"na',
    );
    socket.destroy();
    await until(() => lines.some(({ message }) => message === 'request'));
    const line = lines.find(({ message }) => message === 'request');
    assert.equal(line?.['status'], 400);
    assert.equal(lines.filter(({ level }) => level === 'error').length, 0);
  });

  test('a caller that goes away before its answer aborts the signal of its call', async (t) => {
    const { port, calls, release } = await serve(t);
    const { socket } = await raw(
      t,
      port,
      'POST /v3/wait HTTP/1.1\r\nHost: a\r\nX-Service-Auth-Token: owner\r\nContent-Length: 0\r\n\r\n',
    );
    await until(() => calls.length === 1);
    assert.equal(calls[0]?.signal.aborted, false);
    socket.destroy();
    await until(() => calls[0]?.signal.aborted ?? false);
    release();
  });

  test('a caller that goes away in the middle of its answer leaves no line in the browser', async (t) => {
    const { port, calls } = await serve(t);
    const { socket } = await raw(t, port, REQUEST('/v3/table'));
    await until(() => calls.length === 1);
    socket.destroy();
    await until(() => socket.destroyed);
  });
});

describe('the service log', () => {
  test('the service log has a line for changes and refusals, with who and how long, and none for reads that succeed', async (t) => {
    const { ask, lines } = await serve(t);
    await ask('GET', '/v3/things/slug?token=hidden');
    await ask('GET', '/v3/things/other');
    await ask('POST', '/v3/things', { body: '{"name":"private"}' });
    const shown = lines.filter(({ message, level }) => message === 'request' && level === 'info');
    assert.deepEqual(
      shown.map(({ operation, status, origin, path }) => [operation, status, origin, path]),
      [
        ['get_thing', 404, 'OWNER', '/v3/things/other'],
        ['make_thing', 200, 'OWNER', '/v3/things'],
      ],
    );
    assert.ok(shown.every((line) => typeof line['duration_ms'] === 'number'));
    assert.doesNotMatch(JSON.stringify(lines), /hidden|private/);
  });

  test('the service log and the metrics count answers by operation and status', async (t) => {
    const { ask, metrics } = await serve(t);
    await ask('GET', '/v3/things/slug');
    await ask('GET', '/v3/things/other');
    const text = await metrics.text();
    assert.match(text, /http_request_duration_seconds_count\{operation="get_thing",status="200"\} 1/);
    assert.match(text, /http_request_duration_seconds_count\{operation="get_thing",status="404"\} 1/);
    assert.match(text, /^gateway_http_connections \d+$/m);
  });
});
