import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import {
  createGatewayClient,
  type GatewayClient,
  GatewayRefusal,
  GatewayUnreachable,
  inParallel,
} from '../../../scripts/support/gateway-client.ts';

/** A client of a server with given answers; its pauses are recorded, not waited for. */
async function clientOf(
  test: TestContext,
  answer: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ client: GatewayClient; pausesMs: number[] }> {
  const server = createServer(answer);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  test.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const pausesMs: number[] = [];
  const { port } = server.address() as AddressInfo;
  const client = createGatewayClient({
    baseUrl: `http://127.0.0.1:${port}`,
    tokens: ['one', 'two'],
    clock: {
      sleep: (durationMs) => {
        pausesMs.push(durationMs);
        return Promise.resolve();
      },
    },
  });
  return { client, pausesMs };
}

describe('the HTTP client of the scripts', () => {
  it('the HTTP client of the scripts throws the code and the sentence of a refusal', async (test) => {
    const { client } = await clientOf(test, (_request, response) => {
      response.statusCode = 422;
      response.end(JSON.stringify({ errors: [{ code: 'device_offline', message: 'It sleeps.' }] }));
    });
    await assert.rejects(client.json({ path: '/x' }), (error) => {
      assert.ok(error instanceof GatewayRefusal);
      assert.deepEqual([error.status, error.code], [422, 'device_offline']);
      return true;
    });
  });

  it('the HTTP client of the scripts throws a refusal also when its body is no JSON', async (test) => {
    const { client } = await clientOf(test, (_request, response) => {
      response.statusCode = 502;
      response.end('bad gateway');
    });
    await assert.rejects(client.json({ path: '/x' }), GatewayRefusal);
  });

  it('the HTTP client of the scripts distinguishes a truncated answer from a refusal', async (test) => {
    const { client } = await clientOf(test, (_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' });
      response.write('{"half":');
      response.destroy();
    });
    await assert.rejects(client.json({ path: '/x' }), GatewayUnreachable);
  });

  it('the HTTP client of the scripts waits as long as a rate limit says, and uses its tokens in turn', async (test) => {
    const seen: unknown[] = [];
    const { client, pausesMs } = await clientOf(test, (request, response) => {
      seen.push(request.headers['x-service-auth-token']);
      if (seen.length < 3) response.writeHead(429, { 'Retry-After': '2' });
      response.end('{}');
    });
    assert.deepEqual(await client.json({ path: '/x' }), {});
    assert.deepEqual(pausesMs, [2_000, 2_000]);
    assert.deepEqual(seen, ['one', 'two', 'one']);
  });
});

describe('work in parallel', () => {
  it('work in parallel keeps the order and the width', async () => {
    let working = 0;
    let most = 0;
    const results = await inParallel([1, 2, 3, 4, 5], 2, async (item) => {
      most = Math.max(most, (working += 1));
      await new Promise((resolve) => setImmediate(resolve));
      working -= 1;
      return item * 10;
    });
    assert.deepEqual(results, [10, 20, 30, 40, 50]);
    assert.equal(most, 2);
  });

  it('work in parallel fails with the first failure', async () => {
    const work = (item: number): Promise<number> =>
      item === 2 ? Promise.reject(new Error('two')) : Promise.resolve(item);
    await assert.rejects(inParallel([1, 2, 3], 2, work), /two/);
  });
});
