/** Requests as they come from a socket, written by hand. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAnswer, raw, serve } from './support.ts';

test('of several lines of a header none stands for all', async (t) => {
  const { port } = await serve(t);
  for (const header of ['X-Service-Auth-Token: owner', 'Authorization: Bearer owner']) {
    const lines = `${header}\r\n${header}x\r\n`;
    const head = `GET /v3/things/slug HTTP/1.1\r\nHost: a\r\nConnection: close\r\n`;
    assert.equal(parseAnswer(await (await raw(t, port, `${head}${header}\r\n\r\n`)).closed).status, 200);
    assert.notEqual(parseAnswer(await (await raw(t, port, `${head}${lines}\r\n`)).closed).status, 200);
  }
});

test('a whole address asks for its path, dots and needless codes left out', async (t) => {
  const { port } = await serve(t);
  for (const target of [
    'http://a/v3/things/slug',
    'http://a/v3/x/../things/./slug',
    '/v3/x/%2e%2e/things/slug',
  ]) {
    const head = `GET ${target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nX-Service-Auth-Token: owner\r\n\r\n`;
    assert.equal(parseAnswer(await (await raw(t, port, head)).closed).status, 200, target);
  }
});
