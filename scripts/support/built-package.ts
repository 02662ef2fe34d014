/** Packages as `npm run build-deb` makes them, quickly: for who tries how they are installed. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packDeb } from '../build-deb/archive.ts';
import { stageGateway } from '../build-deb/contents.ts';
import type { Processor } from '../build-deb/runtime.ts';

const ROOT = join(import.meta.dirname, '..', '..');
const PACKED = 'usr/lib/energy-gateway/package';

export interface Built {
  /** The `.deb`. */
  file: string;
  /** The tree that was packed. */
  root: string;
}

/**
 * Stages and packs the gateway, of the bundles in `dist/` unless others are given; `change` may spoil the tree of a
 * version before it is packed. Packed as it is, unless a level of compression is given.
 */
export function buildGateway(
  folder: string,
  options: {
    processor?: Processor;
    version?: string;
    bundles?: string | undefined;
    level?: number;
    change?: (release: string) => void;
  } = {},
): Built {
  const { processor = 'amd64', version = '0.1.0', bundles = join(ROOT, 'dist') } = options;
  const root = join(folder, `root-${version}-${processor}`);
  stageGateway({ root, source: ROOT, bundles, processor, version });
  if (options.change) {
    options.change(join(root, PACKED));
    writeFileSync(join(root, PACKED, 'release'), `${version}-changed\n`);
  }
  const file = join(folder, `energy-gateway_${version}_${processor}.deb`);
  packDeb({ root, file, level: options.level, source: ROOT });
  return { file, root };
}
