/**
 * Programs as a package of their own in a temporary folder: bundled like the product, so that they start in a fraction of
 * the time, and apart from `dist/`, which may be of other sources and is made anew by whoever builds.
 */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundlePrograms } from '../build.ts';

const ROOT = join(import.meta.dirname, '..', '..');
/** What the gateway reads beside its programs. */
const BESIDE = ['package.json', 'migrations', 'src', 'node_modules'];

export interface PackedPrograms {
  /** Below its `dist/` are the programs. */
  folder: string;
  remove: () => void;
}

/** @param names paths below `src/` without ending; @param others name → path below the project */
export async function packPrograms(
  names: readonly string[],
  others: Readonly<Record<string, string>> = {},
): Promise<PackedPrograms> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-package-'));
  for (const name of BESIDE) symlinkSync(join(ROOT, name), join(folder, name));
  await bundlePrograms(join(folder, 'dist'), {
    ...Object.fromEntries(names.map((name) => [name, `src/${name}.ts`])),
    ...others,
  });
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
}
