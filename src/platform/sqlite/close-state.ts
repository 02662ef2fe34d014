/**
 * Closes state.db. Its file may have been removed, replaced or covered by a disk mounted over the folder: everything
 * acknowledged since then is in a file without a name, which disappears when it is closed.
 */
import { renameSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isThere, makePrivateFolder, removeFile, syncFile, syncFolder } from '../files/index.ts';
import type { Log } from '../log/index.ts';
import type { Database } from './database.ts';

/** One file, however often it happens. */
const BESIDE = join('backups', 'state-replaced.db');

/** If its place is free, puts the file back first; else keeps a copy beside the file that replaced it. */
export function closeState(database: Database, log: Log): void {
  try {
    if (!database.isInPlace) putBack(database, log);
  } catch (error) {
    log.error('state.db was removed or replaced, and could not be put back', { path: database.path, error });
  }
  database.close();
}

function putBack(database: Database, log: Log): void {
  const { path } = database;
  const isFree = !isThere(path);
  const target = isFree ? path : join(dirname(path), BESIDE);
  const draft = `${target}.new`;
  makePrivateFolder(dirname(target));
  removeFile(draft);
  database.copyAtOnce(draft);
  syncFile(draft);
  // A log that was left must not be read into another file.
  if (isFree) for (const suffix of ['-wal', '-shm']) removeFile(path + suffix);
  renameSync(draft, target);
  syncFolder(dirname(target));
  if (isFree) log.error('state.db was removed while the gateway ran, and is put back', { path });
  else
    log.error(
      'state.db was replaced while the gateway ran; a restore of the copy brings back what was there',
      { path, copy: target },
    );
}
