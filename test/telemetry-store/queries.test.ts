import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ToEngine } from '../../src/telemetry-store/engine/messages.ts';
import { Queries } from '../../src/telemetry-store/engine/queries.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { settle } from '../support/test-clock.ts';

const PLAN = { fromS: 0, toS: 1, granularityS: 1, columns: [] };
const { queriesAtOnce, queriesWaiting } = LIMITS.telemetry;

function createHarness() {
  const posted: ToEngine[] = [];
  const queries = new Queries({
    limits: LIMITS.telemetry,
    metrics: createMetrics(),
    post: (message) => void posted.push(message),
  });
  const ask = async (signal = new AbortController().signal): Promise<string> => {
    let text = '';
    for await (const piece of queries.run(PLAN, signal)) text += piece;
    return text;
  };
  const started = (): number[] => posted.flatMap((message) => (message.kind === 'query' ? [message.id] : []));
  return { posted, queries, ask, started };
}

describe('queries', () => {
  test('queries are refused when too many wait, and go on one after the other', async () => {
    const { ask, queries, started } = createHarness();
    const answers = Array.from({ length: queriesAtOnce + queriesWaiting }, () => ask());
    await settle();
    assert.equal(started().length, queriesAtOnce);
    assert.throws(() => queries.run(PLAN, new AbortController().signal), { code: 'unavailable' });
    queries.receive({ kind: 'done', id: started()[0] ?? 0 });
    await settle();
    assert.equal(started().length, queriesAtOnce + 1);
    while (started().length < answers.length) {
      for (const id of started()) queries.receive({ kind: 'done', id });
      await settle();
    }
    for (const id of started()) queries.receive({ kind: 'done', id });
    await Promise.all(answers);
  });

  test('queries give their place away when the caller leaves while they wait', async () => {
    const { ask, queries, started } = createHarness();
    const running = Array.from({ length: queriesAtOnce }, () => ask());
    const leaving = new AbortController();
    const left = ask(leaving.signal);
    await settle();
    leaving.abort(new Error('left'));
    await assert.rejects(left, /left/);
    assert.equal(started().length, queriesAtOnce);
    for (const id of started()) queries.receive({ kind: 'done', id });
    await Promise.all(running);
  });

  test('queries are cancelled in the store when the caller leaves', async () => {
    const { ask, queries, posted, started } = createHarness();
    const leaving = new AbortController();
    const answer = ask(leaving.signal);
    await settle();
    queries.receive({ kind: 'piece', id: started()[0] ?? 0, piece: new Uint8Array(1), isLast: false });
    await settle();
    leaving.abort(new Error('left'));
    await assert.rejects(answer, /left/);
    assert.deepEqual(
      posted.map((message) => message.kind),
      ['query', 'more', 'cancel'],
    );
  });

  test('queries end with an error when the store fails or is restarted', async () => {
    const { ask, queries, started } = createHarness();
    const failed = ask();
    const cut = ask();
    await settle();
    queries.receive({ kind: 'done', id: started()[0] ?? 0, error: 'broken' });
    await assert.rejects(failed, /failed to answer/);
    queries.failAll();
    await assert.rejects(cut, { code: 'unavailable' });
  });
});
