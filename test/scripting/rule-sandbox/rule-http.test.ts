/** `http` in a rule; its behaviour in full is tested with device scripts. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { startRule } from '../../support/rule-run.ts';
import { until } from '../../support/until.ts';

test('a rule calls a service, and one that does not answer is nil and a text', async () => {
  const server = createServer((_request, response) => {
    response.setHeader('Content-Type', 'application/json');
    response.end('{"price": 0.25}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const rule = startRule(
    `local r = http.get("http://127.0.0.1:${port}/") print(r.code, json.decode(r.body).price, r.headers:get("content-type"))\n` +
      'print(http.get("http://127.0.0.1:1/"))\nprint(http.get("ftp://x/"))',
  );
  try {
    await until(async () => {
      await rule.idle();
      return rule.ended() !== undefined;
    });
    const said = rule.said();
    assert.deepEqual(said.slice(0, 2), ['200\t0.25\tapplication/json', 'nil\tconnection refused']);
    assert.match(said[2] ?? '', /^nil\t/);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});
