/** Files that people gave, in folders by what they belong to: `FOLDER/OWNER/FILE`. Rows elsewhere say what they are. */
import { readdirSync, rmdirSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { EpochMs } from '../../lib/time.ts';
import { isThere, removeFile, unlessAbsent } from './private-files.ts';

/** In the data folder: documents by the id of their device and their own. */
export const DOCUMENTS_FOLDER = 'documents';

const ID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** Below that folder, as the gateway names them; no restore takes others. */
export const DOCUMENT_FILE = new RegExp(`^${ID}/${ID}$`);

/** Every file of a kept folder, as `OWNER/FILE`; none where there is no such folder. */
export function keptFiles(folder: string): string[] {
  const owners = isThere(folder) ? readdirSync(folder) : [];
  return owners.flatMap((owner) => readdirSync(join(folder, owner)).map((name) => `${owner}/${name}`));
}

/** What a file holds, read beside the event loop; undefined when there is no such file. */
export async function readBeside(path: string): Promise<Buffer | undefined> {
  try {
    return await readFile(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Removes files from before a moment that nobody knows, and folders without a file; returns the number of files. */
export function removeUnknown(
  folder: string,
  isKnown: (owner: string, name: string) => boolean,
  beforeMs: EpochMs,
): number {
  let count = 0;
  for (const file of keptFiles(folder)) {
    const [owner = '', name = ''] = file.split('/');
    const path = join(folder, file);
    const modifiedAtMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
    if (isKnown(owner, name) || modifiedAtMs >= beforeMs) continue;
    removeFile(path);
    count += 1;
  }
  for (const owner of isThere(folder) ? readdirSync(folder) : [])
    if (readdirSync(join(folder, owner)).length === 0) unlessAbsent(() => rmdirSync(join(folder, owner)));
  return count;
}
