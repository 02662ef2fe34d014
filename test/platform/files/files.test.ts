import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { packagePath, readTree } from '../../../src/platform/files/index.ts';
import { PROJECT_ROOT, temporaryFolder } from '../../support/workspace.ts';

test('the package root is found from the sources', () => {
  assert.equal(packagePath('migrations'), join(PROJECT_ROOT, 'migrations'));
});

test('a tree is read in the order of paths, without links', (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'b'));
  writeFileSync(join(folder, 'b', 'inner.txt'), 'inner');
  writeFileSync(join(folder, 'a.txt'), 'a');
  symlinkSync('/etc/hostname', join(folder, 'link.txt'));
  assert.deepEqual(
    [...readTree(folder)].map(([path, content]) => [path, content.toString()]),
    [
      ['a.txt', 'a'],
      ['b/inner.txt', 'inner'],
    ],
  );
});
