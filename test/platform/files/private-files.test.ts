import assert from 'node:assert/strict';
import { chmodSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { readPrivateFile, removeFile, writePrivateFile } from '../../../src/platform/files/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('a private file', () => {
  test('that does not exist reads as nothing and is removed without complaint', (t) => {
    const path = join(temporaryFolder(t), 'code');
    assert.equal(readPrivateFile(path), undefined);
    removeFile(path);
  });

  test('that cannot be read is an error', (t) => {
    assert.throws(() => readPrivateFile(temporaryFolder(t)), /EISDIR/);
  });

  test('is made for its owner alone, with its folder', (t) => {
    const folder = join(temporaryFolder(t), 'data');
    const path = join(folder, 'code');
    writePrivateFile(path, 'secret\n');
    assert.deepEqual([readPrivateFile(path), modeOf(path), modeOf(folder)], ['secret\n', 0o600, 0o700]);
  });

  test('replaces a file and a draft that everybody could read', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'code');
    for (const name of [path, `${path}.new`]) {
      writeFileSync(name, 'something much longer than what follows');
      chmodSync(name, 0o644);
    }
    writePrivateFile(path, 'new');
    assert.deepEqual([readPrivateFile(path), modeOf(path), readdirSync(folder)], ['new', 0o600, ['code']]);
    removeFile(path);
    assert.equal(existsSync(path), false);
  });
});
