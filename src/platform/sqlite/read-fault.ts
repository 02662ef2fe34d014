/**
 * Distinguishes a disk that cannot be read now from a damaged file. SQLite does not: after a read that fails with EIO a
 * statement reports SQLITE_CORRUPT (SQLITE_IOERR_CORRUPTFS of https://sqlite.org/rescode.html). A damaged file is set
 * aside, which would give up data that the disk can read again a moment later.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const PAGE_BYTES = 4_096;
/** G: in a larger file this many are spread over it; half a second on a slow card. */
const PAGES_READ_MAX = 1_024;
const TRIES = 3;
/** G: a dead medium may take seconds for each page: after this many failures from the start no more are read. */
const FIRST_PAGES = 16;

/** Reads at a position of an open file. */
type Read = (descriptor: number, into: Buffer, position: number) => void;

const readPage: Read = (descriptor, into, position) =>
  void readSync(descriptor, into, 0, into.length, position);

/**
 * Whether reads of the file or its log fail now and then, or nearly everywhere. False where only single places can never
 * be read: these are damage. A database that this process has open gives its descriptor (see `Database.descriptor`).
 */
export function failsToRead(path: string, read = readPage, descriptor?: number): boolean {
  const files = [
    () => (descriptor === undefined ? failsInFile(path, read) : failsIn(descriptor, read)),
    () => failsInFile(`${path}-wal`, read),
  ];
  return files.some((fails) => {
    try {
      return fails();
    } catch (error) {
      // A missing file cannot fail to be read.
      return error instanceof Error && 'code' in error && error.code !== 'ENOENT';
    }
  });
}

function failsInFile(path: string, read: Read): boolean {
  const descriptor = openSync(path, 'r');
  try {
    return failsIn(descriptor, read);
  } finally {
    closeSync(descriptor);
  }
}

function failsIn(descriptor: number, read: Read): boolean {
  const pages = Math.ceil(fstatSync(descriptor).size / PAGE_BYTES);
  const count = Math.min(pages, PAGES_READ_MAX);
  const into = Buffer.alloc(PAGE_BYTES);
  let [readable, unreadable] = [0, 0];
  for (let index = 0; index < count && (readable > 0 || unreadable < FIRST_PAGES); index++) {
    const failures = failuresAt(Math.floor((index * pages) / count) * PAGE_BYTES);
    if (failures === 0) readable++;
    else if (failures === TRIES) unreadable++;
    else return true;
  }
  return unreadable > readable;

  function failuresAt(position: number): number {
    for (let failures = 0; failures < TRIES; failures++)
      try {
        read(descriptor, into, position);
        return failures;
      } catch (error) {
        if (!(error instanceof Error && 'code' in error)) throw error;
      }
    return TRIES;
  }
}
