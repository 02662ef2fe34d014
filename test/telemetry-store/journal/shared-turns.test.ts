/** A journal whose event loop is busy with something that always has more, as an import. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { type JournalFiles, Journal, nodeFiles } from '../../../src/telemetry-store/journal/index.ts';
import { createMetrics } from '../../../src/platform/metrics/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

/** It always has something to encode. */
async function openBusy(t: TestContext, files: JournalFiles = nodeFiles) {
  const clock = new TestClock();
  let encoded = 0;
  const journal = await Journal.open({
    folder: temporaryFolder(t),
    name: 'test',
    clock,
    log: recordingLog(clock).log,
    metrics: createMetrics(),
    encode: () => (encoded < 50 ? Buffer.from(`record ${++encoded}`) : undefined),
    synced: () => undefined,
    files,
  });
  t.after(() => journal.stop());
  return { commits: journal.commits, encoded: () => encoded };
}

test('a commit of a journal ends with what was buffered when it began, although more comes all the time', async (t) => {
  const { commits, encoded } = await openBusy(t);
  const first = commits.request(1);
  await commits.flush();
  await first;
  assert.equal(encoded(), 1);
});

test('a new segment is written in a few turns of the event loop, each of which others may use for long', async (t) => {
  let [rounds, isRound] = [0, false];
  const files: JournalFiles = {
    ...nodeFiles,
    open: async (path, truncate) => {
      const file = await nodeFiles.open(path, truncate);
      return {
        ...file,
        write: (bytes, position) => {
          if (!isRound) {
            setImmediate(() => (isRound = false));
            rounds++;
          }
          isRound = true;
          return file.write(bytes, position);
        },
      };
    },
  };
  const { commits } = await openBusy(t, files);
  void commits.request(1);
  await commits.flush();
  assert.ok(rounds < 16, `writes in ${rounds} turns`);
});
