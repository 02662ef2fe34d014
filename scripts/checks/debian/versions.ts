/** Three versions of the package: this one, one that migrates and then fails, and one that migrates and works. */
import { execFileSync } from 'node:child_process';
import { appendFileSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildGateway, repackGateway } from '../../support/built-package.ts';

export const FIRST = '0.1.0';
export const BROKEN = '0.2.0';
export const NEXT = '0.3.0';

/** Where the package of a version is within a `DebianRoot`. */
export const packageOf = (version: string): string => `/tmp/packages/energy-gateway_${version}_amd64.deb`;

/**
 * Packs all of them in the folder, of the bundles in `dist/` unless others are given; `first` is the package of an earlier
 * version in place of the first.
 */
export function buildVersions(folder: string, bundles?: string, first?: string): void {
  const built = buildGateway(folder, { version: FIRST, bundles });
  if (first !== undefined) renameFirst(folder, first);
  repackGateway(folder, built, NEXT, (release) => {
    migrate(release);
    rename(release, NEXT);
  });
  repackGateway(folder, built, BROKEN, (release) => {
    rename(release, BROKEN);
    appendFileSync(join(release, 'dist/main.js'), '\nsetTimeout(() => process.exit(1), 2_000);\n');
  });
}

/** The package of an earlier version under the name of the first one. */
function renameFirst(folder: string, first: string): void {
  const root = join(folder, 'earlier');
  execFileSync('dpkg-deb', ['--raw-extract', first, root]);
  repackGateway(folder, { root }, FIRST, (release) => rename(release, FIRST));
}

/** One migration more than there are. */
function migrate(release: string): void {
  const folder = join(release, 'migrations/state');
  const next = String(readdirSync(folder).length + 1).padStart(4, '0');
  writeFileSync(
    join(folder, `${next}_next.sql`),
    'CREATE TABLE next_version (id INTEGER PRIMARY KEY) STRICT;',
  );
}

function rename(release: string, version: string): void {
  const file = join(release, 'package.json');
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), version }));
}
