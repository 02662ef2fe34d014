import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startThread } from '../../../src/platform/threads/index.ts';

test('a thread that cannot be started has ended, and whoever wanted it goes on', async () => {
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
  await thread.terminate();
});
