/** Whether a path still leads to what was there. */
import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { HeldFile } from '../../../src/platform/files/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';

test('a file is in place until it is moved, removed or another one takes its name', (t) => {
  const path = join(temporaryFolder(t), 'folder', 'file');
  mkdirSync(join(path, '..'));
  writeFileSync(path, 'one');
  const held = new HeldFile(path);
  const folder = new HeldFile(join(path, '..'));
  writeFileSync(path, 'another content');
  assert.deepEqual([held.isInPlace, folder.isInPlace], [true, true]);
  renameSync(path, `${path}.old`);
  assert.deepEqual([held.isInPlace, folder.isInPlace], [false, true]);
  writeFileSync(path, 'two');
  assert.equal(held.isInPlace, false);
  renameSync(`${path}.old`, path);
  assert.equal(held.isInPlace, true);
  rmSync(join(path, '..'), { recursive: true });
  assert.deepEqual([held.isInPlace, folder.isInPlace], [false, false]);
});

test('a path that cannot be looked at for another reason says nothing about its file', (t) => {
  const path = join(temporaryFolder(t), 'file');
  writeFileSync(path, '');
  const held = new HeldFile(path);
  rmSync(path);
  // A link to itself is refused with ELOOP, as a disk is with EIO.
  symlinkSync(path, path);
  assert.equal(held.isInPlace, true);
});
