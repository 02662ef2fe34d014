/** The sample content of docs/samples. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './workspace.ts';

/** Folder of the sample blueprints. */
export const SAMPLE_BLUEPRINTS = join(PROJECT_ROOT, 'docs/samples/blueprints');

/** Text of each file of a sample by its path in the blueprint. */
export function sampleBlueprint(name: string): Record<string, string> {
  const folder = join(SAMPLE_BLUEPRINTS, name);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}
