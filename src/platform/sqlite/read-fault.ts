/**
 * Telling a disk that cannot be read now from a file that is damaged. SQLite does not: a read that ends with EIO is
 * SQLITE_CORRUPT for whoever ran the statement (SQLITE_IOERR_CORRUPTFS of https://sqlite.org/rescode.html). Damage is
 * answered by setting the file aside, which would give up what the disk has again a moment later.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';

const PAGE_BYTES = 4_096;
/** G: of a larger file so many are spread over it; half a second on a slow card. */
const PAGES_READ_MAX = 1_024;
const TRIES = 3;
/** G: a dead medium may take seconds to refuse each: when the first so many are refused, no more are asked for. */
const FIRST_PAGES = 16;

/** Reads at a position of an open file. */
type Read = (descriptor: number, into: Buffer, position: number) => void;

const readPage: Read = (descriptor, into, position) =>
  void readSync(descriptor, into, 0, into.length, position);

/**
 * Whether reads of the file, or of its log, fail now one time and not another, or nearly everywhere. False where single
 * places can never be read: these are damage.
 */
export function failsToRead(path: string, read = readPage): boolean {
  return [path, `${path}-wal`].some((each) => {
    try {
      return failsIn(each, read);
    } catch (error) {
      // One that is not there has nothing that cannot be read.
      return error instanceof Error && 'code' in error && error.code !== 'ENOENT';
    }
  });
}

function failsIn(path: string, read: Read): boolean {
  const descriptor = openSync(path, 'r');
  try {
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
  } finally {
    closeSync(descriptor);
  }
}
