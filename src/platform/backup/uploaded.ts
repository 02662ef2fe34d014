/** A backup that came over the network: first its bytes, then the word to take it over. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { keepStream, removeFile, removeTree } from '../files/index.ts';
import { BackupError, type BackupInfo, BACKUPS_FOLDER, UPLOADED } from './layout.ts';
import type { BackupOpener } from './opening.ts';

const NOTHING = 'No backup was uploaded.';

/** Keeps the bytes, in place of an upload before; nothing is kept when it throws. Resolves with their number. */
export function keepUpload(dataDir: string, stream: ReadableStream<Uint8Array>): Promise<number> {
  return keepStream(join(dataDir, BACKUPS_FOLDER, UPLOADED), stream);
}

/** Forgets the upload, if there is one. */
export function discardUpload(dataDir: string): void {
  removeTree(join(dataDir, BACKUPS_FOLDER, UPLOADED));
}

/**
 * Makes the upload ready for the next start, as the local command does it. Resolves with undefined for a plain copy of
 * state.db, which does not say when it was made. @throws BackupError
 */
export async function restoreUpload(
  dataDir: string,
  password: string,
  opener: Pick<BackupOpener, 'open'>,
): Promise<BackupInfo | undefined> {
  const path = join(dataDir, BACKUPS_FOLDER, UPLOADED);
  if (!existsSync(path)) throw new BackupError(NOTHING);
  try {
    const info = await opener.open({ kind: 'restore', path, password });
    removeFile(path);
    return info;
  } catch (error) {
    // Another caller took it over, or began to upload another one.
    throw existsSync(path) ? error : new BackupError(NOTHING, { cause: error });
  }
}
