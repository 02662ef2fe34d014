/** The library asks whether the folder of a file exists, and takes each refusal of the disk for a no. */
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { openFile } from '../../../src/platform/sqlite/native.ts';
import { temporaryFolder } from '../../support/workspace.ts';

/** The next looks at the folder are refused. */
function refuseLooks(t: TestContext, folder: string, count: number): void {
  const { accessSync } = fs;
  let left = count;
  const look = (path: unknown): void => {
    if (path !== folder || left-- <= 0) return accessSync(path as string);
    throw Object.assign(new Error(`EIO: i/o error, access '${folder}'`), { code: 'EIO', path: folder });
  };
  t.mock.method(fs, 'accessSync', look);
  t.mock.method(fs, 'existsSync', (path: unknown) => {
    try {
      look(path);
      return true;
    } catch {
      // As the runtime does.
      return false;
    }
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
}

test('a folder that the disk refuses is named with its code, and not reported as missing', (t) => {
  const folder = temporaryFolder(t);
  refuseLooks(t, folder, Infinity);
  assert.throws(() => openFile(join(folder, 'state.db')), { code: 'EIO', path: folder });
});

test('a folder that the disk refuses once is opened', (t) => {
  const folder = temporaryFolder(t);
  refuseLooks(t, folder, 1);
  openFile(join(folder, 'state.db')).close();
});
