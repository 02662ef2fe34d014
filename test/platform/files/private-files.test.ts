import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import {
  keepStream,
  makePrivateFolder,
  readNote,
  readPlainFile,
  readPrivateFile,
  removeFile,
  removeTree,
  requireUsableFile,
  writePrivateFile,
} from '../../../src/platform/files/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';

test('a tree is removed with all of its content, and the targets of its links stay', (t) => {
  const folder = temporaryFolder(t);
  const [tree, kept] = [join(folder, 'tree'), join(folder, 'kept')];
  mkdirSync(join(tree, 'a', 'b'), { recursive: true });
  mkdirSync(kept);
  writeFileSync(join(tree, 'a', 'b', 'file'), '');
  writeFileSync(join(kept, 'file'), '');
  symlinkSync(kept, join(tree, 'a', 'link'));
  removeTree(tree);
  assert.deepEqual(readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort(), ['kept', 'kept/file']);
  for (const absent of [tree, join(kept, 'file', 'below')]) removeTree(absent);
  removeTree(join(kept, 'file'));
  assert.deepEqual(readdirSync(folder, { recursive: true }), ['kept']);
});

const modeOf = (path: string): number => statSync(path).mode & 0o777;

describe('a private file', () => {
  test('a private file reads as nothing when it does not exist and is removed without an error', (t) => {
    const path = join(temporaryFolder(t), 'code');
    assert.equal(readPrivateFile(path), undefined);
    removeFile(path);
  });

  test('a private file is an error when it cannot be read', (t) => {
    assert.throws(() => readPrivateFile(temporaryFolder(t)), / is a folder where a file is expected$/);
  });

  test('a private file is made for its owner alone, with its folder', (t) => {
    const folder = join(temporaryFolder(t), 'data');
    const path = join(folder, 'code');
    writePrivateFile(path, 'secret\n');
    assert.deepEqual([readPrivateFile(path), modeOf(path), modeOf(folder)], ['secret\n', 0o600, 0o700]);
  });

  test('a private file replaces a file and a draft that everybody could read', (t) => {
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

  test('a private file stays as it was when the disk takes only a part of the new one', (t) => {
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
  test('a note of the gateway for itself is what was written, and counts as none when a disk left zeros, nothing or a folder of it', (t) => {
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
    assert.match(told.join(), /^SyntaxError.*SyntaxError.*is a folder where a file is expected/s);
  });
});

/** Something else in the place of a file, and what it is called. */
const OBSTACLES: [kind: string, put: (path: string, t: TestContext) => Promise<void> | void][] = [
  ['folder', (path) => mkdirSync(path)],
  ['named pipe', (path) => void execFileSync('mkfifo', [path])],
  ['device', (path) => symlinkSync('/dev/zero', path)],
  [
    'socket',
    (path, t) =>
      new Promise((resolve) => {
        const server = createServer().listen(path, resolve);
        t.after(() => server.close());
      }),
  ],
];

describe('what stands in the place of a file', () => {
  for (const [kind, put] of OBSTACLES)
    test(`what stands in the place of a file is named when it is a ${kind}, and not waited for`, async (t) => {
      const path = join(temporaryFolder(t), 'key.pem');
      await put(path, t);
      for (const read of [readPlainFile, readPrivateFile, requireUsableFile])
        assert.throws(() => read(path), new RegExp(`${path} is a ${kind} where a file is expected`));
    });

  for (const [kind, put] of OBSTACLES.slice(1))
    test(`a ${kind} in the place of a file is replaced, be it the file or its draft`, async (t) => {
      for (const suffix of ['', '.new']) {
        const path = join(temporaryFolder(t), 'key.pem');
        await put(path + suffix, t);
        writePrivateFile(path, 'key');
        assert.deepEqual([lstatSync(path).isFile(), readPrivateFile(path)], [true, 'key'], suffix);
        assert.ok(!existsSync(`${path}.new`), suffix);
      }
      const path = join(temporaryFolder(t), 'uploaded');
      await put(path, t);
      assert.equal(await keepStream(path, ReadableStream.from([Buffer.from('sent')])), 4);
      assert.deepEqual([lstatSync(path).isFile(), readPrivateFile(path)], [true, 'sent']);
    });

  test('a folder in the place of a file stays, and nothing is left beside it', (t) => {
    const path = join(temporaryFolder(t), 'key.pem');
    mkdirSync(path);
    assert.throws(() => writePrivateFile(path, 'key'), /EISDIR/);
    assert.ok(!existsSync(`${path}.new`));
    rmSync(path, { recursive: true });
    mkdirSync(`${path}.new`);
    assert.throws(() => writePrivateFile(path, 'key'), /EISDIR/);
  });
});

describe('a private folder', () => {
  test('a private folder is made with its parents, for its owner alone, and an existing one stays as it is', (t) => {
    const folder = join(temporaryFolder(t), 'data', 'keys');
    makePrivateFolder(folder);
    assert.deepEqual([modeOf(folder), modeOf(join(folder, '..'))], [0o700, 0o700]);
    chmodSync(folder, 0o750);
    makePrivateFolder(folder);
    assert.equal(modeOf(folder), 0o750);
  });

  test('a private folder ends with an error where the system makes none, and never tries for ever', () => {
    for (const path of ['/proc/gateway', '/proc/gateway/data/keys'])
      assert.throws(() => makePrivateFolder(path), /ENOENT.*'\/proc\/gateway'/);
  });

  test('a private folder is not made below a file, in the place of one, or where a link leads nowhere', (t) => {
    const [file, link] = ['file', 'link'].map((name) => join(temporaryFolder(t), name)) as [string, string];
    writeFileSync(file, '');
    symlinkSync(`${link}-gone`, link);
    assert.throws(() => makePrivateFolder(file), /EEXIST/);
    assert.throws(() => makePrivateFolder(join(file, 'data')), /EEXIST/);
    assert.throws(() => makePrivateFolder(link), /EEXIST/);
  });
});

describe('a file that is needed', () => {
  test('a required file may be there or not, but nothing else in its place, and the error names it and what to do', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'state');
    requireUsableFile(path);
    writeFileSync(path, '');
    requireUsableFile(path);
    assert.throws(() => requireUsableFile(folder), {
      name: 'UnrecoverableError',
      message: new RegExp(
        `^${folder} cannot be used by user \\d+ \\(${folder} is a folder where a file is expected\\)\\. .*move it away\\.$`,
      ),
    });
  });
});
