/** A site file with what it names beside it. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { temporaryFolder } from '../support/workspace.ts';

export const SECRETS = {
  ANNA: 'a long sentence of anna',
  FLEET: 'the-token-of-this-box',
  LEAST: '15',
  HOOK: 'http://127.0.0.1:9/hook/of-this-box',
  OTHER_HOOK: 'http://127.0.0.2:9/hook/of-this-box',
};

/** Returns the path of the file. */
export function siteFile(
  t: Pick<TestContext, 'after'>,
  text: string,
  beside: Record<string, string | Uint8Array> = {},
): string {
  const folder = temporaryFolder(t);
  for (const [name, content] of Object.entries(beside)) writeFileSync(join(folder, name), content);
  writeFileSync(join(folder, 'site.yml'), text);
  return join(folder, 'site.yml');
}

/** A zipped blueprint of this name: with a script, or of a device that connects by itself. */
export function blueprintZip(name: string, options: { isLua?: boolean } = {}): Promise<Uint8Array> {
  const manifest = {
    blueprint_spec: 'device/3.0',
    display_name: name,
    runtime: options.isLua ? { type: 'lua', options: { file: 'main.lua' } } : { type: 'embedded' },
    telemetry: { power: { display_name: 'Power', type: 'float' } },
  };
  const files = new Map([['manifest.yml', Buffer.from(JSON.stringify(manifest))]]);
  if (options.isLua) files.set('main.lua', Buffer.from('function main() end'));
  return writeArchive(files);
}
