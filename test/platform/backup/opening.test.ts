/** Opening backups on a thread of its own. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { BackupError, createBackupOpener } from '../../../src/platform/backup/index.ts';
import { createSystemClock } from '../../../src/platform/clock/index.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

test('a backup that somebody else took over meanwhile is reported as gone', async (t) => {
  const clock = createSystemClock();
  t.after(() => clock.close());
  const dataDir = temporaryFolder(t);
  const { log } = recordingLog(clock);
  const opener = createBackupOpener({ dataDir, clock, log, limits: LIMITS.backup });
  t.after(() => opener.stop());
  const path = join(dataDir, 'gone.backup');
  for (const kind of ['restore', 'check'] as const)
    await assert.rejects(opener.open({ kind, path, password: 'a password' }), {
      name: BackupError.name,
      message: 'The backup is not there any more.',
    });
});
