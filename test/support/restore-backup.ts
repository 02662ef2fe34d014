/** A saved backup, made ready for the next start of a gateway on the folder, as the local command does it. */
import { open } from 'node:fs/promises';
import { type BackupInfo, prepareRestore } from '../../src/platform/backup/index.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';

export async function restoreBackup(path: string, password: string, dataDir: string): Promise<BackupInfo> {
  const clock = createSystemClock();
  const file = await open(path);
  try {
    return await prepareRestore({ file, password, dataDir, clock });
  } finally {
    await file.close();
    clock.close();
  }
}
