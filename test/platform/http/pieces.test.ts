/** Answers that come piece by piece. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { JSON_HEADERS, route, StreamedAnswer } from '../../../src/platform/http/index.ts';
import { until } from '../../support/until.ts';
import { serve } from './support.ts';

test('memory of a piece is given back once it is written, unless others share it', async (t) => {
  const alone = Array.from({ length: 40 }, (_, index) => new Uint8Array(100_000).fill(65 + (index % 26)));
  const shared = new Uint8Array(100).fill('"'.charCodeAt(0));
  const expected = `"${Buffer.concat(alone).toString()}"`;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    yield shared.subarray(0, 1);
    for (const piece of alone) {
      await new Promise((resolve) => setImmediate(resolve));
      yield piece;
    }
    yield shared.subarray(1, 2);
  }
  const { ask } = await serve(t, {
    routes: [
      route({
        operation: 'pieces',
        GET: ['/v3/pieces'],
        role: 'READONLY',
        handle: () => new StreamedAnswer(JSON_HEADERS, pieces()),
      }),
    ],
  });
  const answer = await ask('GET', '/v3/pieces');
  assert.equal(answer.text, expected);
  await until(() => alone.every(({ buffer }) => buffer.detached));
  assert.equal(shared.length, 100);
});
