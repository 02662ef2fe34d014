/**
 * Files that belong to the program and stand beside it: migrations, built-in blueprints and profiles. They are
 * found from the package root, so that running from the sources and from the bundle sees the same ones.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

let root: string | undefined;

/** Absolute path of something below the package root, the nearest folder upwards with a `package.json`. */
export function packagePath(...segments: string[]): string {
  root ??= findRoot(import.meta.dirname);
  return join(root, ...segments);
}

/** Version of the package that the program belongs to. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as { version: string };
  return version;
}

/**
 * Version of the package that dpkg has installed, which is not the one that runs once an upgrade has failed; undefined when
 * this program is not one of the versions of a package.
 */
export function installedVersion(): string | undefined {
  const versions = dirname(packagePath());
  const file = join(dirname(versions), 'package', 'package.json');
  if (basename(versions) !== 'versions' || !existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

function findRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from;
  const parent = dirname(from);
  if (parent === from) throw new Error('the package root was not found: no package.json above the program');
  return findRoot(parent);
}

/** Every regular file below a folder: path with `/`, relative to it, → content; in the order of the paths. */
export function readTree(dir: string): Map<string, Buffer> {
  const files = readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return new Map(files.map((path) => [path.slice(dir.length + 1).replaceAll('\\', '/'), readFileSync(path)]));
}
