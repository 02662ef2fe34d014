/** A folder that the system has and a person named: another disk, a stick, a network drive. */
import { realpathSync, statSync } from 'node:fs';
import { sep } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import { isFull } from '../../lib/system-fault.ts';

export interface MountedFolder {
  folder: string;
  /** Folder of the data, to tell whether the other one is on a file system of its own. */
  dataDir: string;
  /** Refuses it while nothing is mounted there: what is written then would fill the card below. */
  isMountExpected: boolean;
}

/** The folder cannot be used now; the message is a sentence for a person. */
export class FolderFailure extends Error {
  override name = 'FolderFailure';
}

/** Whether the folder lies on another file system than the data; a sentence: it cannot be used. */
export function isOnOtherDisk(folder: string, dataDir: string): boolean | string {
  try {
    const found = statSync(folder, { throwIfNoEntry: false });
    if (!found?.isDirectory()) return `There is no folder ${folder}.`;
    if (isInside(realpathSync(folder), realpathSync(dataDir)))
      return `${folder} is in the data folder of the gateway. Choose a folder outside.`;
    return found.dev !== statSync(dataDir).dev;
  } catch (error) {
    return unusable(folder, error);
  }
}

const isInside = (path: string, folder: string): boolean => `${path}${sep}`.startsWith(`${folder}${sep}`);

const unusable = (folder: string, error: unknown): string =>
  isFull(error)
    ? `${folder} is full. Make room on that disk.`
    : `${folder} cannot be used: ${messageOf(error)}`;

/** What is wrong with the path of a folder as text; undefined: nothing. */
export function folderPathProblem(path: string): string | undefined {
  if (!/^(?:\/[A-Za-z0-9._~-]+)+\/?$/.test(path) || path.split('/').some((part) => /^\.\.?$/.test(part)))
    return 'must be a folder such as /media/stick, of letters, digits and . _ ~ -, without . or .. in its path';
  return undefined;
}

/** Does the work while the folder is there. @throws FolderFailure when it is not, or the work failed there */
export async function inFolder<Result>(
  { folder, dataDir, isMountExpected }: MountedFolder,
  work: () => Promise<Result>,
): Promise<Result> {
  const isElsewhere = isOnOtherDisk(folder, dataDir);
  if (typeof isElsewhere === 'string') throw new FolderFailure(isElsewhere);
  if (isMountExpected && !isElsewhere)
    throw new FolderFailure(`Nothing is mounted at ${folder}: the stick or drive that was there is missing.`);
  try {
    return await work();
  } catch (error) {
    throw new FolderFailure(unusable(folder, error), { cause: error });
  }
}
