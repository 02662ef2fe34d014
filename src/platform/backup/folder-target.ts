/** A folder that the system has: another disk, a stick, a network drive. */
import { createReadStream } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderFailure, inFolder, syncBeside } from '../files/index.ts';
import { type BackupTarget, PART, ReadBack, TargetError } from './target.ts';

const PIECE_BYTES = 65_536;

export function folderTarget(folder: string, dataDir: string, isMountExpected: boolean): BackupTarget {
  const use = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    try {
      return await inFolder({ folder, dataDir, isMountExpected }, work);
    } catch (error) {
      if (!(error instanceof FolderFailure)) throw error;
      throw error.cause instanceof TargetError
        ? error.cause
        : new TargetError(error.message, { cause: error.cause });
    }
  };
  return {
    store: (path, name) =>
      use(async () => {
        const draft = join(folder, name + PART);
        try {
          await rm(draft, { force: true });
          await copy(path, draft);
          await rename(draft, join(folder, name));
        } catch (error) {
          await rm(draft, { force: true });
          throw error;
        }
        await syncBeside(folder);
      }),
    names: () => use(() => readdir(folder)),
    remove: (name) => use(() => rm(join(folder, name), { force: true })),
  };
}

/**
 * Copies to a name that nothing has, and reads back what is there. Others may write in the folder, so that no link of theirs
 * is followed. @throws TargetError
 */
async function copy(path: string, draft: string): Promise<void> {
  const file = await open(draft, 'wx+', 0o600);
  try {
    for await (const piece of createReadStream(path)) await file.writeFile(piece as Buffer);
    await file.sync();
    const sent = new ReadBack(path);
    const buffer = Buffer.alloc(PIECE_BYTES);
    for (let at = 0, isMore = true; isMore;) {
      const { bytesRead } = await file.read(buffer, 0, PIECE_BYTES, at);
      at += bytesRead;
      isMore = bytesRead > 0 && sent.take(buffer.subarray(0, bytesRead));
    }
    await sent.requireSame();
  } finally {
    await file.close();
  }
}
