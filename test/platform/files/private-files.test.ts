import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  makePrivateFolder,
  readNote,
  readPrivateFile,
  removeFile,
  requireUsableFile,
  writePrivateFile,
} from '../../../src/platform/files/index.ts';
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

  test('stays as it was when the disk takes only a part of the new one', (t) => {
    const path = join(temporaryFolder(t), 'code');
    writePrivateFile(path, 'old');
    const source = import.meta.resolve('../../../src/platform/files/private-files.ts');
    const program = `import { writePrivateFile } from '${source}'; writePrivateFile('${path}', 'new'.repeat(5_000));`;
    // The shell's bound on the size of a file, some blocks, ends a write in its middle as a disk without room does.
    const words = ['ulimit -f 8; exec "$0" --input-type=module -e "$1"', process.execPath, program];
    const { status, stderr } = spawnSync('sh', ['-c', ...words], { encoding: 'utf8' });
    assert.notEqual(status, 0);
    assert.match(stderr, /EFBIG/);
    assert.equal(readPrivateFile(path), 'old');
  });
});

describe('a note of the gateway for itself', () => {
  test('is what was written, and counts as none when a disk left zeros, nothing or a folder of it', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'note.json');
    const told: unknown[] = [];
    const read = (from: string): unknown => readNote(from, (error) => void told.push(error));
    assert.equal(read(path), undefined);
    writePrivateFile(path, '{"foundAtMs":5}');
    assert.deepEqual([read(path), told], [{ foundAtMs: 5 }, []]);
    for (const content of [Buffer.alloc(64), Buffer.alloc(0)]) {
      writeFileSync(path, content);
      assert.equal(read(path), undefined);
    }
    assert.equal(read(folder), undefined);
    assert.match(told.join(), /^SyntaxError.*SyntaxError.*EISDIR/s);
  });
});

describe('a private folder', () => {
  test('is made with those above it, for its owner alone, and stays as it is when it is there', (t) => {
    const folder = join(temporaryFolder(t), 'data', 'keys');
    makePrivateFolder(folder);
    assert.deepEqual([modeOf(folder), modeOf(join(folder, '..'))], [0o700, 0o700]);
    chmodSync(folder, 0o750);
    makePrivateFolder(folder);
    assert.equal(modeOf(folder), 0o750);
  });

  test('ends with an error where the system makes none, and never tries for ever', () => {
    for (const path of ['/proc/gateway', '/proc/gateway/data/keys'])
      assert.throws(() => makePrivateFolder(path), /ENOENT.*'\/proc\/gateway'/);
  });

  test('is not made below a file, in the place of one, or where a link leads nowhere', (t) => {
    const [file, link] = ['file', 'link'].map((name) => join(temporaryFolder(t), name)) as [string, string];
    writeFileSync(file, '');
    symlinkSync(`${link}-gone`, link);
    assert.throws(() => makePrivateFolder(file), /EEXIST/);
    assert.throws(() => makePrivateFolder(join(file, 'data')), /EEXIST/);
    assert.throws(() => makePrivateFolder(link), /EEXIST/);
  });
});

describe('a file that is needed', () => {
  test('may be there or not, but nothing else in its place, and the error names it and what to do', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'state');
    requireUsableFile(path);
    writeFileSync(path, '');
    requireUsableFile(path);
    assert.throws(() => requireUsableFile(folder), {
      name: 'UnrecoverableError',
      message: new RegExp(`^${folder} cannot be used by user \\d+ \\(it is no file\\)\\. .*move it away\\.$`),
    });
  });
});
