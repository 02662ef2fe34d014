/** The sample content of docs/samples. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT } from './workspace.ts';

/** Folder of the sample blueprints. */
export const SAMPLE_BLUEPRINTS = join(PROJECT_ROOT, 'docs/samples/blueprints');

/** Folder of the sample rules. */
export const SAMPLE_RULES = join(PROJECT_ROOT, 'docs/samples/rules');

/** Text of a sample rule, with some of its settings as a person would set them: name → Lua text of the value. */
export function sampleRule(name: string, settings: Record<string, string> = {}): string {
  let text = readFileSync(join(SAMPLE_RULES, `${name}.lua`), 'utf8');
  for (const [setting, value] of Object.entries(settings)) {
    const line = new RegExp(`^local ${setting} = .*?( --.*)?$`, 'm');
    if (!line.test(text)) throw new Error(`rule ${name} has no setting ${setting}`);
    text = text.replace(line, `local ${setting} = ${value}`);
  }
  return text;
}

/** Text of each file of a sample by its path in the blueprint. */
export function sampleBlueprint(name: string): Record<string, string> {
  const folder = join(SAMPLE_BLUEPRINTS, name);
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}
