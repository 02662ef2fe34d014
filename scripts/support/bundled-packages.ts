/** Which packages of others have code in a bundle: each is to be named, and its licence to come along. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Metafile } from 'esbuild';

/** In the folder of the bundles: file below it → folders of packages below the project. */
export const PACKAGES_FILE = 'packages.json';

/** Up to the last package of a path, which may lie in another one. */
const PACKAGE = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/;

/** Folders of the packages with code in an output, in order. */
export function packagesIn({ inputs }: Pick<Metafile['outputs'][string], 'inputs'>): string[] {
  const folders = Object.entries(inputs).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? (PACKAGE.exec(path) ?? []) : [],
  );
  return [...new Set(folders)].sort();
}

/** Keeps beside the bundles what is in them. */
export function keepPackages(bundles: string, byFile: ReadonlyMap<string, readonly string[]>): void {
  const known = [...byFile]
    .filter(([, packages]) => packages.length > 0)
    .toSorted(([one], [other]) => (one < other ? -1 : 1));
  writeFileSync(join(bundles, PACKAGES_FILE), `${JSON.stringify(Object.fromEntries(known), undefined, 1)}\n`);
}

/** Folders of the packages in the bundled files that are wanted, below the project. */
export function packagesOf(bundles: string, isWanted: (file: string) => boolean): string[] {
  const byFile = JSON.parse(readFileSync(join(bundles, PACKAGES_FILE), 'utf8')) as Record<string, string[]>;
  return [
    ...new Set(Object.entries(byFile).flatMap(([file, found]) => (isWanted(file) ? found : []))),
  ].sort();
}
