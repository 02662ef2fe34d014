/**
 * Room for the index of a write-ahead log. SQLite makes its file longer by writing the last byte of each page of 4 KiB, and
 * maps it into memory. Where the blocks of the file system are smaller, the other blocks of a page are taken when it is
 * touched, and on a full disk that touch ends the process (SIGBUS). So the room is asked for before.
 */
import { statfsSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { removeFile } from '../files/index.ts';

/** What SQLite makes longer and maps at once (https://sqlite.org/walformat.html#the_wal_index_file_format). */
const INDEX_BYTES = 32_768;
const PAGE_BYTES = 4_096;

/**
 * To be called before a database is opened. `isFirst`: nobody else has it open, so that an index that lies there is begun
 * anew. @throws Error when the disk has no room for it
 */
export function requireRoomForIndex(path: string, isFirst = false): void {
  if (statfsSync(dirname(path)).bsize >= PAGE_BYTES) return;
  const index = statSync(`${path}-shm`, { throwIfNoEntry: false });
  if (!isFirst && index !== undefined && index.size >= INDEX_BYTES) return;
  const probe = `${path}-shm.probe`;
  try {
    // Twice as much: blocks that list the file's blocks, and those of the log itself.
    writeFileSync(probe, Buffer.alloc(2 * INDEX_BYTES, 1), { mode: 0o600 });
  } finally {
    removeFile(probe);
  }
}
