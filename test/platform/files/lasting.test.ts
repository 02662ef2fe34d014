/** Which refusals of a path may be over at the next start. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs, { chmodSync, chownSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { ConfigError, loadConfig } from '../../../src/platform/config/index.ts';
import { isLasting, requireUsableFile } from '../../../src/platform/files/index.ts';
import { tryLockFolder } from '../../../src/platform/sqlite/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../../support/workspace.ts';

type Call = 'statSync' | 'accessSync' | 'mkdirSync' | 'readFileSync';

/** The system answers the next call for the path with this, and nothing more. */
function refuseOnce(t: TestContext, call: Call, path: string, code: string): void {
  const given = fs[call] as (...words: unknown[]) => unknown;
  let isDue = true;
  const refusing = t.mock.method(fs, call, (asked: unknown, ...rest: unknown[]) => {
    if (!isDue || asked !== path) return given(asked, ...rest);
    isDue = false;
    throw Object.assign(new Error(`${code}: refused, '${path}'`), { code, path });
  });
  syncBuiltinESMExports();
  t.after(() => {
    refusing.mock.restore();
    syncBuiltinESMExports();
  });
}

describe('a start is tried again', () => {
  for (const code of ['EACCES', 'EPERM', 'EIO'])
    for (const call of ['statSync', 'accessSync'] as const)
      test(`a start is tried again when the system refused a file of the gateway once: ${call} with ${code}`, (t) => {
        const path = join(temporaryFolder(t), 'state.db');
        writeFileSync(path, '');
        refuseOnce(t, call, path, code);
        assert.throws(
          () => requireUsableFile(path),
          (error: Error) => error.name !== 'UnrecoverableError' && 'code' in error && error.code === code,
        );
        requireUsableFile(path);
      });

  test('a start is tried again and goes on when a file was removed while the gateway looked at it', (t) => {
    const path = join(temporaryFolder(t), 'state.db-wal');
    writeFileSync(path, '');
    refuseOnce(t, 'accessSync', path, 'ENOENT');
    requireUsableFile(path);
  });

  for (const call of ['statSync', 'accessSync'] as const)
    test(`a start is tried again when the system refused the data folder once: ${call}`, (t) => {
      const dataDir = temporaryFolder(t);
      const clock = new TestClock();
      const options = { dataDir, clock, log: recordingLog(clock).log };
      refuseOnce(t, call, dataDir, 'EACCES');
      assert.throws(() => tryLockFolder(options), {
        name: 'Error',
        message: /data folder .* cannot be used/,
      });
      const lock = tryLockFolder(options);
      assert.ok(lock);
      lock.release();
    });

  test('a start is tried again when the data folder is a link to a disk that is not there yet', (t) => {
    const folder = temporaryFolder(t);
    const dataDir = join(folder, 'data');
    symlinkSync(join(folder, 'disk'), dataDir);
    const clock = new TestClock();
    const options = { dataDir, clock, log: recordingLog(clock).log };
    assert.throws(() => tryLockFolder(options), { name: 'Error', message: /data folder .* cannot be used/ });
    mkdirSync(join(folder, 'disk'));
    const lock = tryLockFolder(options);
    assert.ok(lock);
    lock.release();
  });

  for (const code of ['EACCES', 'EIO', 'EMFILE'])
    test(`a start is tried again when the system refused the configuration file once: ${code}`, (t) => {
      const file = join(temporaryFolder(t), 'gateway.yml');
      writeFileSync(file, 'http_port: 1234\n');
      refuseOnce(t, 'readFileSync', file, code);
      assert.throws(
        () => loadConfig({ environment: {}, file }),
        (error: Error) => !(error instanceof ConfigError) && error.message.startsWith(code),
      );
      assert.equal(loadConfig({ environment: {}, file }).httpPort, 1_234);
    });
});

/** Judged by a user whom rights concern: root may use everything. */
function judgedByOther(path: string): { isLasting: boolean } {
  const source = import.meta.resolve('../../../src/platform/files/index.ts');
  const program = `
    import { accessSync, chmodSync } from 'node:fs';
    const { isLasting } = await import('${source}');
    const path = ${JSON.stringify(path)};
    const judge = (work) => { try { work(); return null } catch (error) { return isLasting(error) } };
    console.log(JSON.stringify({ isLasting: judge(() => accessSync(path, 6)) ?? judge(() => chmodSync(path, 0o600)) }));`;
  const stranger = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
  const words = ['--input-type=module', '-e', program];
  const { stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', ...stranger });
  assert.notEqual(stdout, '', stderr);
  return JSON.parse(stdout) as { isLasting: boolean };
}

describe('a refusal lasts', { skip: process.getuid?.() !== 0 && 'needs root, to be another user' }, () => {
  for (const [title, forbid] of [
    ['the mode of the file', (file: string) => chmodSync(file, 0o600)],
    [
      'its folder, into which this user may not look',
      (_: string, folder: string) => chmodSync(folder, 0o700),
    ],
    ['its owner, who alone may change it', (file: string) => chmodSync(file, 0o666)],
    [
      'the mode of the file for its own group',
      (file: string) => {
        chownSync(file, 0, 65_534);
        chmodSync(file, 0o646);
      },
    ],
  ] as const)
    test(`a refusal lasts when it is proven by ${title}`, (t) => {
      const base = temporaryFolder(t);
      const folder = join(base, 'inner');
      for (const each of [tmpdir(), base]) if ((fs.statSync(each).mode & 0o001) === 0) chmodSync(each, 0o711);
      mkdirSync(folder, { mode: 0o755 });
      chmodSync(folder, 0o755);
      const file = join(folder, 'file');
      writeFileSync(file, '');
      forbid(file, folder);
      assert.deepEqual(judgedByOther(file), { isLasting: true });
    });
});

test('a refusal that no rights prove may pass, and so may one by a system without room or handles', () => {
  const refusal = (code: string) => Object.assign(new Error(code), { code, path: import.meta.filename });
  for (const code of ['EACCES', 'EPERM', 'EIO', 'ENOSPC', 'EMFILE', 'ENOMEM', 'EROFS', 'ESTALE'])
    assert.equal(isLasting(new Error('outer', { cause: refusal(code) })), false, code);
  for (const code of ['EISDIR', 'ENOTDIR', 'ELOOP']) assert.equal(isLasting(refusal(code)), true, code);
  assert.equal(isLasting(new Error('damaged')), true);
});
