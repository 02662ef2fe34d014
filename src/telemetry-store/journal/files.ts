/** The file operations a journal needs, so that tests can make a disk full or broken. */
import { closeSync, fsyncSync, openSync } from 'node:fs';
import { type FileHandle, mkdir, open, rename, rm } from 'node:fs/promises';

export interface JournalFile {
  /** Writes all of `bytes` at `position`. */
  write(bytes: Uint8Array, position: number): Promise<void>;
  /** Resolves when everything written is on the medium. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

/** The disk as a journal uses it; tests replace it by a failing one. */
export interface JournalFiles {
  makeFolder(path: string): Promise<void>;
  /** Opens for writing; creates the file, or empties it when `truncate` says so. */
  open(path: string, truncate: boolean): Promise<JournalFile>;
  /** A missing file is no failure: a person may remove a damaged segment. */
  remove(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Makes created and removed names of a folder durable. */
  syncFolder(path: string): void;
}

/** The real disk. */
export const nodeFiles: JournalFiles = {
  makeFolder: async (path) => void (await mkdir(path, { recursive: true, mode: 0o700 })),
  open: async (path, truncate) => wrap(await open(path, truncate ? 'w' : 'r+', 0o600)),
  remove: (path) => rm(path, { force: true }),
  rename: (from, to) => rename(from, to),
  syncFolder: (path) => {
    const handle = openSync(path, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  },
};

function wrap(handle: FileHandle): JournalFile {
  return {
    write: async (bytes, position) => {
      let done = 0;
      while (done < bytes.length) {
        const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done);
        done += bytesWritten;
      }
    },
    sync: () => handle.datasync(),
    close: () => handle.close(),
  };
}
