import { constants, realpathSync, statSync } from 'node:fs';
import { lstat, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import { isFull } from '../../lib/system-fault.ts';
import { makePrivateFolder, syncBeside } from './private-files.ts';

const DAY = /^\d{4}-\d{2}-\d{2}$/;
const PART = '.part';
/** Flags for an existing file; a link is not followed, and a pipe is not waited for. */
const APPEND_TO_EXISTING =
  constants.O_WRONLY | constants.O_APPEND | constants.O_NOFOLLOW | constants.O_NONBLOCK;

interface DatedPiecesOptions extends MountedFolder {
  /** Whose files these are: letters, digits and `-`. */
  label: string;
  /** With the dot. */
  extension: string;
}

/**
 * Texts that are gathered into files of days, for who carries them away by hand. A file has its name only once it is whole
 * and on the disk, and never changes afterwards:
 *
 *   2026-03-01/telemetry-000000012345-7c1d8a3e.csv     kept
 *   2026-03-01/telemetry-7c1d8a3e.part                 gathered; not to be taken yet
 *
 * What was begun at a place and not kept as a whole is thrown away before it is begun there again, so that nothing stands
 * in two files.
 */
export class DatedFiles {
  readonly #options: DatedPiecesOptions;
  /** Files that are being written, by day and subject. */
  readonly #open = new Map<string, { day: string; subject: string }>();
  #place: string | undefined;
  #isSwept = false;

  constructor(options: DatedPiecesOptions) {
    this.#options = options;
  }

  /** Files that are gathered now. */
  get openCount(): number {
    return this.#open.size;
  }

  /** Everything until `keep` gets this place in its names. @throws FolderFailure */
  async begin(place: string): Promise<void> {
    this.#place = place;
    if (this.#isSwept && this.#open.size === 0) return;
    const { folder, label } = this.#options;
    await inFolder(this.#options, async () => {
      for (const entry of await readdir(folder, { withFileTypes: true })) {
        const day = entry.name;
        if (!DAY.test(day) || !entry.isDirectory()) continue;
        for (const name of await readdir(join(folder, day)))
          if (name.endsWith(`-${label}${PART}`) || name.includes(`-${place}-${label}.`))
            await rm(join(folder, day, name));
      }
    });
    this.#open.clear();
    this.#isSwept = true;
  }

  /** @param piece.day as `2026-03-01` @param piece.head stands once, at the beginning of the file @throws FolderFailure */
  async append(piece: {
    day: string;
    subject: string;
    head: Uint8Array;
    content: Uint8Array;
  }): Promise<void> {
    const { day, subject, head, content } = piece;
    await inFolder(this.#options, async () => {
      const path = this.#pathOf(day, subject);
      // One that vanished with its stick must not begin anew in the middle.
      if (this.#open.has(path)) return appendTo(path, content);
      await makeDay(join(this.#options.folder, day));
      this.#open.set(path, { day, subject });
      await writeAnew(path, Buffer.concat([head, content]));
    });
  }

  /**
   * Brings all gathered samples to the disk under their names.
   * @throws FolderFailure: all of it is to be begun again
   */
  async keep(): Promise<void> {
    const { folder, label, extension } = this.#options;
    await inFolder(this.#options, async () => {
      for (const path of this.#open.keys()) await syncBeside(path);
      for (const [path, { day, subject }] of this.#open)
        await rename(path, join(folder, day, `${subject}-${this.#place}-${label}${extension}`));
      for (const day of new Set([...this.#open.values()].map((piece) => piece.day)))
        await syncBeside(join(folder, day));
      await syncBeside(folder);
    });
    this.#open.clear();
  }

  /** Writes a file and takes it away again. @throws FolderFailure */
  async probe(): Promise<void> {
    const path = join(this.#options.folder, `test-${this.#options.label}${PART}`);
    await inFolder(this.#options, async () => {
      await writeAnew(path, 'test');
      await syncBeside(path);
      await rm(path);
    });
  }

  #pathOf(day: string, subject: string): string {
    return join(this.#options.folder, day, `${subject}-${this.#options.label}${PART}`);
  }
}

/** Others may write in the folder: what stands at the name is removed, and a link that comes in between is not followed. */
async function writeAnew(path: string, content: string | Uint8Array): Promise<void> {
  await rm(path, { force: true });
  await writeFile(path, content, { flag: 'wx' });
}

async function appendTo(path: string, content: Uint8Array): Promise<void> {
  const file = await open(path, APPEND_TO_EXISTING);
  try {
    const found = await file.stat();
    if (!found.isFile() || found.nlink > 1) throw new Error(`${path} is not a file of its own`);
    await file.writeFile(content);
  } finally {
    await file.close();
  }
}

async function makeDay(path: string): Promise<void> {
  makePrivateFolder(path);
  if (!(await lstat(path)).isDirectory()) throw new Error(`${path} is a link, which is not followed`);
}

// A folder that the system has and a person named: another disk, a stick, a network drive.

interface MountedFolder {
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

/** The fault of the path of a folder as text; undefined: none. */
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
