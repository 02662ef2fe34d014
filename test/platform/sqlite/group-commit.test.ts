import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { createGroupCommit, openDatabase } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

function setUp(t: TestContext) {
  const folder = temporaryFolder(t);
  const migrationsDir = join(folder, 'migrations');
  mkdirSync(migrationsDir);
  writeFileSync(
    join(migrationsDir, '0001_word.sql'),
    'CREATE TABLE word (text TEXT NOT NULL UNIQUE) STRICT;',
  );
  const clock = new TestClock();
  const { log } = recordingLog(clock);
  const database = openDatabase({ path: join(folder, 'test.db'), migrationsDir, clock, log });
  t.after(() => database.close());
  const metrics = createMetrics();
  const commits = createGroupCommit({ database, name: 'test', clock, log, metrics });
  const insert = database.prepare<[string]>('INSERT INTO word (text) VALUES (?)');
  const texts = database.prepare<[], { text: string }>('SELECT text FROM word ORDER BY rowid');
  let buffered: string[] = [];
  commits.join({
    write: () => {
      for (const text of buffered) insert.run(text);
    },
    committed: () => {
      buffered = [];
    },
  });
  return {
    clock,
    commits,
    metrics,
    stored: () => texts.all().map((row) => row.text),
    add: (text: string) => {
      buffered.push(text);
      return commits.request(text.length);
    },
    remove: (text: string) => {
      buffered = buffered.filter((candidate) => candidate !== text);
    },
  };
}

describe('a group commit', () => {
  test('a group commit writes the data of several callers in one transaction and then notifies all of them', async (t) => {
    const { add, clock, stored } = setUp(t);
    const done = Promise.all([add('a'), add('b')]);
    assert.deepEqual(stored(), []);
    await clock.advance(10);
    await done;
    assert.deepEqual(stored(), ['a', 'b']);
  });

  test('a group commit shows its queue beside its limit', async (t) => {
    const { add, clock, metrics } = setUp(t);
    const done = add('ab');
    const text = await metrics.text();
    assert.match(text, /^gateway_test_commit_buffered_bytes 2$/m);
    const limit = LIMITS.commits.bufferedBytes;
    assert.match(text, new RegExp(`^gateway_test_commit_buffer_limit_bytes ${limit}$`, 'm'));
    await clock.advance(10);
    await done;
  });

  test('a group commit keeps everything when the transaction fails, and nothing is half written', async (t) => {
    const { add, clock, commits, remove, stored } = setUp(t);
    const first = add('a');
    void add('a');
    await clock.advance(10);
    assert.deepEqual(stored(), []);
    assert.match(commits.failure?.message ?? '', /UNIQUE/);
    remove('a');
    void add('c');
    await clock.advance(1_000);
    await first;
    assert.deepEqual(stored(), ['c']);
    assert.equal(commits.failure, undefined);
  });

  test('a group commit flushes at once on request', async (t) => {
    const { add, commits, stored } = setUp(t);
    const done = add('a');
    await commits.flush();
    await done;
    assert.deepEqual(stored(), ['a']);
  });

  test('a group commit writes the rest when it stops', async (t) => {
    const { add, commits, stored } = setUp(t);
    const done = add('a');
    await commits.stop();
    await done;
    assert.deepEqual(stored(), ['a']);
  });
});
