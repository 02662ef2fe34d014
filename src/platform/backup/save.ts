/** A backup as a file. */
import { statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { makePrivateFolder, removeFile } from '../files/index.ts';
import { type BackupOptions, openBackup } from './backup.ts';
import { BACKUPS_FOLDER, OUTGOING } from './layout.ts';
import type { BackupOpener } from './opening.ts';
import type { BackupTarget } from './target.ts';

/** Makes a backup into the file that `open` gives, synced; the file is empty when it fails, and closed. */
export async function saveBackup(
  options: BackupOptions,
  password: string,
  open: () => FileHandle | Promise<FileHandle>,
): Promise<void> {
  makePrivateFolder(join(options.dataDir, BACKUPS_FOLDER));
  const file = await open();
  try {
    const { stream, ended } = await openBackup(options, password);
    for await (const chunk of stream) await file.writeFile(chunk);
    await ended;
    await file.sync();
  } catch (error) {
    await file.truncate();
    throw error;
  } finally {
    await file.close();
  }
}

// A backup that is made, opened, checked and taken to its place.

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
