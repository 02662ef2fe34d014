import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { startThread, type Thread } from '../../../src/platform/threads/index.ts';
import { until } from '../../support/until.ts';

const CHILDREN = join(import.meta.dirname, '../../support/children');

test('a thread that cannot be started counts as ended, and its caller goes on', async () => {
  const ended = Promise.withResolvers<Error | undefined>();
  const thread = startThread({
    // The system says it in the same way when it has no room for another one.
    entry: 'no/absolute/path',
    data: undefined,
    heapMaxMib: 16,
    youngHeapMaxMib: 4,
    onMessage: () => assert.fail(),
    onExit: ended.resolve,
  });
  thread.post('nobody hears it');
  assert.match(String(await ended.promise), /ERR_WORKER_PATH/);
  await thread.end();
  await thread.terminate();
});

/** Starts a thread that does what its argument says; resolves when it does. */
async function started(does: 'is stuck' | 'speaks later'): Promise<Thread & { heard: unknown[] }> {
  const begun = Promise.withResolvers<void>();
  const heard: unknown[] = [];
  const thread = startThread({
    entry: join(CHILDREN, 'busy-thread.ts'),
    data: does,
    heapMaxMib: 16,
    youngHeapMaxMib: 4,
    onMessage: (message) => {
      heard.push(message);
      begun.resolve();
    },
    onExit: (error) => begun.reject(error ?? new Error('ended early')),
  });
  await begun.promise;
  return { ...thread, heard };
}

test('threads ended at any moment while they use zlib do not end the process', async () => {
  const program = join(CHILDREN, 'ended-while-compressing.ts');
  const { stdout } = await promisify(execFile)(process.execPath, ['--conditions=bundled', program]);
  assert.equal(stdout, 'every thread has ended');
});

test('a thread in an endless loop is ended', async () => {
  const thread = await started('is stuck');
  await thread.end();
});

test('a message to a thread that does not listen yet arrives once it does', async () => {
  const thread = await started('speaks later');
  thread.post('early');
  await until(() => thread.heard.includes('heard early'));
  await thread.end();
});
