/** Small files that only the user of the gateway may read: codes and keys. */
import {
  chmodSync,
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces the file as a whole: after a crash it is the old or the new one, synced, with mode 0600. */
export function writePrivateFile(path: string, text: string): void {
  makePrivateFolder(dirname(path));
  const draft = `${path}.new`;
  const file = openSync(draft, 'w', 0o600);
  try {
    // A draft that a crash left keeps the mode it had.
    chmodSync(draft, 0o600);
    writeSync(file, text);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(draft, path);
  syncFolder(dirname(path));
}

/** With the folders above it; one that is there already stays as it is. */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/** After a new name in the folder: until then a cut of power may bring the old one back. */
export function syncFolder(path: string): void {
  syncFile(path);
}

/** What the file holds is on the disk afterwards, whoever wrote it. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** Undefined when there is no such file. */
export function readPrivateFile(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Does nothing when there is no such file. */
export function removeFile(path: string): void {
  rmSync(path, { force: true });
}

/** Writes what comes over the network; resolves with its bytes. Nothing is left of it when it fails. */
export async function keepStream(path: string, stream: ReadableStream<Uint8Array>): Promise<number> {
  makePrivateFolder(dirname(path));
  const file = await open(path, 'w', 0o600);
  try {
    let sizeBytes = 0;
    for await (const chunk of stream) {
      await file.writeFile(chunk);
      sizeBytes += chunk.length;
    }
    return sizeBytes;
  } catch (error) {
    removeFile(path);
    throw error;
  } finally {
    await file.close();
  }
}
