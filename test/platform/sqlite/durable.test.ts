/** When a commit that shares its sync with others is on the disk. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { sqliteTable, text } from 'drizzle-orm/sqlite-core';
import { GatewayError } from '../../../src/lib/errors.ts';
import { type Database, openDatabase, type SyncFile } from '../../../src/platform/sqlite/index.ts';
import { settle, TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

interface World {
  database: Database;
  /** Syncs that were begun and not ended yet. */
  syncs: { end: (error?: Error) => void }[];
  insert: (text: string) => void;
}

function world(t: TestContext): World {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'migrations'));
  writeFileSync(join(folder, 'migrations', '0001_item.sql'), 'CREATE TABLE item (text TEXT) STRICT;');
  const syncs: World['syncs'] = [];
  const sync: SyncFile = () =>
    new Promise((resolve, reject) => {
      syncs.push({ end: (error) => (error ? reject(error) : resolve()) });
    });
  const clock = new TestClock();
  const database = openDatabase({
    path: join(folder, 'state.db'),
    migrationsDir: join(folder, 'migrations'),
    clock,
    log: recordingLog(clock).log,
    sync,
  });
  t.after(() => database.close());
  const insert = database.prepare<[string]>('INSERT INTO item VALUES (?)');
  return { database, syncs, insert: (text) => void insert.run(text) };
}

async function isPending(promise: Promise<unknown>): Promise<boolean> {
  let pending = true;
  const end = (): void => void (pending = false);
  promise.then(end, end);
  await settle();
  return pending;
}

describe('a commit that shares its sync', () => {
  test('a commit that shares its sync is not durable before the sync has ended, with or without a transaction', async (t) => {
    const { database, syncs, insert } = world(t);
    for (const change of [() => insert('alone'), () => database.transaction(() => insert('in one'))]) {
      change();
      const durable = database.durable();
      assert.equal(await isPending(durable), true);
      syncs.pop()?.end();
      await durable;
    }
    await database.durable();
    assert.deepEqual(syncs, []);
  });

  test('a commit that shares its sync waits for the next one when it comes while one is running', async (t) => {
    const { database, syncs, insert } = world(t);
    insert('first');
    const first = database.durable();
    await settle();
    insert('second');
    const second = database.durable();
    insert('third');
    const third = database.durable();
    syncs[0]?.end();
    await first;
    assert.deepEqual([await isPending(second), await isPending(third)], [true, true]);
    assert.equal(syncs.length, 2);
    syncs[1]?.end();
    await Promise.all([second, third]);
    assert.equal(syncs.length, 2);
  });

  test('a commit that shares its sync is not durable when the sync fails, and is after it was stored in another way', async (t) => {
    const { database, syncs, insert } = world(t);
    insert('first');
    const durable = database.durable();
    await settle();
    syncs[0]?.end(Object.assign(new Error('I/O error'), { code: 'EIO' }));
    await assert.rejects(durable, { kind: 'unavailable' });
    await database.durable();
    assert.equal(syncs.length, 1, 'a sync after one that failed proves nothing');
    assert.equal(database.hasLogOver(0), true);
  });
});

describe('a statement outside of a transaction', () => {
  const item = sqliteTable('item', { text: text('text') });

  test('a statement outside of a transaction that the disk refuses fails with a sentence, and works once the disk takes it', (t) => {
    const { database } = world(t);
    const client = database.orm.$client;
    const large = 'x'.repeat(100_000);
    const ways: (() => unknown)[] = [
      () => database.orm.insert(item).values({ text: large }).run(),
      () => database.orm.insert(item).values({ text: large }).returning().get(),
      () => database.orm.insert(item).values({ text: large }).returning().all(),
      () => database.prepare<[string]>('INSERT INTO item VALUES (?) RETURNING text').get(large),
    ];
    for (const [pragma, undo, sentence] of [
      ['max_page_count = 3', 'max_page_count = 1000000', /^The disk is full, /],
      ['query_only = ON', 'query_only = OFF', /^The disk is read-only now, /],
    ] as const)
      for (const way of ways) {
        client.pragma(pragma);
        assert.throws(way, (error) => {
          assert.ok(error instanceof GatewayError);
          assert.equal(error.kind, 'unavailable');
          assert.match(error.message, sentence);
          return true;
        });
        assert.ok(Array.isArray(database.orm.select().from(item).all()), 'reading goes on');
        client.pragma(undo);
        way();
      }
  });
});
