/** Blueprints in a folder or in the archive of a repository: every folder that has a `manifest.yml`. */
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type ArchiveFiles, readArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { UsageError } from '../support/arguments.ts';

export interface FoundBlueprint {
  /** Path of its folder; `.` for the whole place. */
  name: string;
  files: Map<string, Buffer>;
}

const MANIFEST = 'manifest.yml';
/** A repository has more in it than one blueprint may have. */
const LIMITS = { unpackedBytes: 1_024 ** 3, entries: 100_000, fileBytes: 16 * 1_048_576 };
const NOT_OURS = new Set(['.git', 'node_modules']);

/** By name. @throws UsageError when there is nothing at the path, or no blueprint in it */
export async function findBlueprints(path: string): Promise<FoundBlueprint[]> {
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined) throw new UsageError(`there is no ${path}`);
  const files = stats.isDirectory() ? filesOf(path) : await archiveFiles(path);
  const found = blueprintsIn(files);
  if (found.length === 0) throw new UsageError(`${path} has no folder with a ${MANIFEST}`);
  return found;
}

/** Each file belongs to the nearest folder above it that is a blueprint. */
export function blueprintsIn(files: ArchiveFiles): FoundBlueprint[] {
  const folders = new Map<string, FoundBlueprint>();
  for (const path of files.keys())
    if (path === MANIFEST || path.endsWith(`/${MANIFEST}`)) {
      const folder = folderOf(path);
      folders.set(folder, { name: folder === '' ? '.' : folder, files: new Map() });
    }
  for (const [path, content] of files) {
    let folder = folderOf(path);
    while (folder !== '' && !folders.has(folder)) folder = folderOf(folder);
    const start = folder === '' ? 0 : folder.length + 1;
    if (content !== null) folders.get(folder)?.files.set(path.slice(start), content);
  }
  return [...folders.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

/** Without a slash at its end; empty at the top. */
function folderOf(path: string): string {
  return path.slice(0, Math.max(0, path.lastIndexOf('/')));
}

function filesOf(root: string): ArchiveFiles {
  const files: ArchiveFiles = new Map();
  const visit = (folder: string): void => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name);
      if (entry.isDirectory() && !NOT_OURS.has(entry.name)) visit(path);
      else if (entry.isFile()) files.set(relative(root, path), readFileSync(path));
    }
  };
  visit(root);
  return files;
}

async function archiveFiles(path: string): Promise<ArchiveFiles> {
  const { files, problem } = await readArchive(readFileSync(path), LIMITS);
  if (files === undefined) throw new UsageError(`${path}: ${problem}`);
  return files;
}
