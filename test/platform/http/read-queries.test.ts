/** Queries that were read before. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as v from 'valibot';
import { query } from '../../../src/platform/http/index.ts';
import { ReadQueries } from '../../../src/platform/http/read-queries.ts';

const NAMES = v.object({ names: query.list() });
const LIMIT = v.object({ limit: query.limit(10, 100) });

describe('a query that was read before', () => {
  test('is the same object, which nobody can change', () => {
    const queries = new ReadQueries();
    const first = queries.read(NAMES, 'names=b,a') as { names: string[] };
    assert.deepEqual(first, { names: ['b', 'a'] });
    assert.equal(queries.read(NAMES, 'names=b,a'), first);
    assert.throws(() => first.names.sort(), TypeError);
  });

  test('is that of its own route', () => {
    const queries = new ReadQueries();
    queries.read(NAMES, 'limit=5');
    assert.deepEqual(queries.read(LIMIT, 'limit=5'), { limit: 5 });
  });

  test('is read again when it was refused, and after many others', () => {
    const queries = new ReadQueries();
    for (const _ of [1, 2]) assert.throws(() => queries.read(LIMIT, 'limit=many'));
    const first = queries.read(LIMIT, 'limit=1');
    for (let count = 0; count < 100; count++) queries.read(LIMIT, `limit=${count}&other`);
    assert.notEqual(queries.read(LIMIT, 'limit=1'), first);
    assert.deepEqual(queries.read(LIMIT, 'limit=1'), { limit: 1 });
  });

  test('is not kept when it is long', () => {
    const queries = new ReadQueries();
    const long = `limit=1&other=${'x'.repeat(2_000)}`;
    assert.notEqual(queries.read(LIMIT, long), queries.read(LIMIT, long));
  });
});
