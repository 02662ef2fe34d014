/** A backup that is made, opened, checked and taken to its place. */
import { statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { BackupOptions } from './backup.ts';
import { BACKUPS_FOLDER, OUTGOING } from './layout.ts';
import type { BackupOpener } from './opening.ts';
import { saveBackup } from './save.ts';
import type { BackupTarget } from './target.ts';
import { removeFile } from '../files/index.ts';

/**
 * Resolves once the backup lies whole at the target under the name, with its size. It is opened here as a restore does,
 * and what lies at the target is compared with it. Takes room for the backup and its content meanwhile.
 * @throws BackupError, TargetError, or what the disk says
 */
export async function deliverBackup(
  options: BackupOptions & { password: string; target: BackupTarget; name: string; opener: BackupOpener },
): Promise<number> {
  const { dataDir, password, target, name, opener } = options;
  const path = join(dataDir, BACKUPS_FOLDER, OUTGOING);
  try {
    await saveBackup(options, password, () => open(path, 'w', 0o600));
    await opener.open({ kind: 'check', path, password });
    await target.store(path, name);
    return statSync(path).size;
  } finally {
    removeFile(path);
  }
}
