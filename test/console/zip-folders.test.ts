/** The zip of a repository, folder by folder, as zips that other programs read. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import { blueprintFolders } from '../../src/console/parts/zip-folders.ts';
import { zipOf } from '../capabilities/blueprints/support.ts';

async function filesIn(zip: Blob): Promise<Record<string, string>> {
  const read = await readArchive(Buffer.from(await zip.arrayBuffer()));
  if (read.files === undefined) return assert.fail(read.problem);
  return Object.fromEntries([...read.files].map(([path, content]) => [path, String(content)]));
}

describe('a zip', () => {
  test('a zip is refused when it is no zip or is cut off', async () => {
    const whole = await zipOf({ 'a/manifest.yml': 'x' });
    for (const bytes of [Buffer.from('no zip'), whole.subarray(4), Buffer.alloc(0)])
      assert.throws(() => blueprintFolders(new Uint8Array(bytes).buffer), { name: 'Error' });
  });

  test('a zip of a repository gives one zip for each folder with a manifest, with all of its files', async () => {
    const long = 'print(1)\n'.repeat(1_000);
    const archive = await zipOf({
      'repository-main/README.md': 'read',
      'repository-main/solar/inverter/manifest.yml': 'inverter',
      'repository-main/solar/inverter/firmware/main.lua': long,
      'repository-main/meters/größe/manifest.yml': 'meter',
    });
    const folders = blueprintFolders(new Uint8Array(archive).buffer);
    assert.deepEqual(
      folders.map(({ path }) => path),
      ['repository-main/meters/größe', 'repository-main/solar/inverter'],
    );
    const contents = await Promise.all(folders.map(({ zip }) => filesIn(zip)));
    assert.deepEqual(contents, [
      { 'manifest.yml': 'meter' },
      { 'manifest.yml': 'inverter', 'firmware/main.lua': long },
    ]);
  });
});
