import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { restoreUpload } from '../../../src/platform/backup/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';

test('an upload that somebody else took meanwhile is missing, which is no internal error', async (t) => {
  const dataDir = temporaryFolder(t);
  mkdirSync(join(dataDir, 'backups'));
  writeFileSync(join(dataDir, 'backups', 'uploaded.backup'), 'sealed');
  const restored = restoreUpload(
    dataDir,
    { password: 'a long sentence', isRehearsal: false },
    {
      open: async (task) => {
        const { path } = task as { path: string };
        rmSync(path);
        await (await open(path)).close();
        return undefined;
      },
    },
  );
  await assert.rejects(restored, { name: 'BackupError', message: 'No backup was uploaded.' });
});
