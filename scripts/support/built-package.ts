/** Packages as `npm run build-deb` makes them, quickly: for who tries how they are installed. */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packDeb } from '../build-deb/archive.ts';
import { stageGateway } from '../build-deb/contents.ts';
import type { Processor } from '../build-deb/runtime.ts';
import { sourceVersion } from '../build-deb/version.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PROCESSOR: Processor = 'amd64';
const PACKED = 'usr/lib/energy-gateway/package';

export interface Built {
  /** The `.deb`. */
  file: string;
  /** The tree that was packed. */
  root: string;
}

const fileOf = (folder: string, version: string): string =>
  join(folder, `energy-gateway_${version}_${PROCESSOR}.deb`);

/** Stages and packs the gateway as it is, of the bundles in `dist/` unless others are given. */
export function buildGateway(
  folder: string,
  options: { version?: string; bundles?: string | undefined } = {},
): Built {
  const { version = sourceVersion(ROOT), bundles = join(ROOT, 'dist') } = options;
  const root = join(folder, `root-${version}`);
  stageGateway({ root, source: ROOT, bundles, processor: PROCESSOR, version });
  const file = fileOf(folder, version);
  packDeb({ root, file, level: undefined, source: ROOT });
  return { file, root };
}

/** Packs the tree of a package again as another version, after `change` to it: to stage all of it anew takes longer. */
export function repackGateway(
  folder: string,
  { root }: Pick<Built, 'root'>,
  version: string,
  change: (release: string) => void,
): void {
  const control = join(root, 'DEBIAN/control');
  writeFileSync(control, readFileSync(control, 'utf8').replace(/^Version: .*$/m, `Version: ${version}`));
  change(join(root, PACKED));
  writeFileSync(join(root, PACKED, 'release'), `${version}-changed\n`);
  packDeb({ root, file: fileOf(folder, version), level: undefined, source: ROOT });
}
