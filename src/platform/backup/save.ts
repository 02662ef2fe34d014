/** A backup as a file. */
import type { FileHandle } from 'node:fs/promises';
import { makePrivateFolder } from '../files/index.ts';
import { join } from 'node:path';
import { type BackupOptions, openBackup } from './backup.ts';
import { BACKUPS_FOLDER } from './layout.ts';

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
