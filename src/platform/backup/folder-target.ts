/** A folder that the system has: another disk, a stick, a network drive. */
import { copyFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { FolderFailure, inFolder, syncBeside } from '../files/index.ts';
import { type BackupTarget, PART, requireSame, TargetError } from './target.ts';

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
          await copyFile(path, draft);
          await syncBeside(draft);
          await requireSame(path, draft);
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
