/** A disk that does not let a start take a backup over: the gateway goes on with what it had, and nothing is lost. */
import assert from 'node:assert/strict';
import fs, { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { LIMITS } from '../../../src/lib/limits.ts';
import { applyRestore, restoreFaultSince } from '../../../src/platform/backup/index.ts';
import { recordingLog } from '../../support/workspace.ts';
import { refuseReads } from '../../support/refused-reads.ts';
import { type Home, makeHome, openState, rename, siteName } from './support.ts';

/** A restore of `Old` waits beside `New`, which left a write-ahead log. */
async function waiting(t: TestContext) {
  const home = makeHome(t, 'Old');
  const bytes = await home.backup();
  rename(home.database, 'New');
  writeFileSync(join(home.dataDir, 'tls', 'authority.pem'), 'key of New');
  await home.restore(bytes);
  home.database.close();
  writeFileSync(join(home.dataDir, 'state.db-wal'), 'log of New');
  return { ...home, bytes, ...recordingLog(home.clock) };
}

type Waiting = Awaited<ReturnType<typeof waiting>>;

const STEPS = [
  ['data', 'state.db-wal'],
  ['data', 'state.db'],
  ['restore', 'state.db'],
  ['data', 'tls'],
  ['restore', 'tls'],
] as const;

test('a restore that failed at a sync never happens, not at a later start either', async (t) => {
  let syncs = Infinity;
  for (let refused = 1; refused <= syncs; refused++) {
    const home = makeHome(t, 'Old');
    const bytes = await home.backup();
    rename(home.database, 'New');
    home.database.close();
    const { fsyncSync } = fs;
    let count = 0;
    const mocked = t.mock.method(fs, 'fsyncSync', (file: number) => {
      count += 1;
      if (count === refused) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' });
      fsyncSync(file);
    });
    syncBuiltinESMExports();
    const isDone = await home.restore(bytes).then(
      () => true,
      () => false,
    );
    mocked.mock.restore();
    syncBuiltinESMExports();
    if (isDone) syncs = count;
    applyRestore(home);
    const state = openState(home.dataDir, home.clock, home.log);
    assert.equal(siteName(state), isDone ? 'Old' : 'New', `sync ${refused}`);
    state.close();
  }
  assert.ok(syncs > 3, `${syncs}`);
});

/** Renames, one of which the disk refuses. */
function refusing(folder: string, name: string, code: string): typeof renameSync {
  return (from, to) => {
    if (basename(dirname(String(from))) === folder && basename(String(from)) === name)
      throw Object.assign(new Error(`${code}: refused, rename '${String(from)}'`), {
        code,
        path: String(from),
      });
    renameSync(from, to);
  };
}

function assertAsBefore(home: Home): void {
  const { dataDir } = home;
  assert.equal(readFileSync(join(dataDir, 'state.db-wal'), 'utf8'), 'log of New');
  assert.equal(readFileSync(join(dataDir, 'tls', 'authority.pem'), 'utf8'), 'key of New');
  rmSync(join(dataDir, 'state.db-wal'));
  const state = openState(dataDir, home.clock, home.log);
  assert.equal(siteName(state), 'New');
  state.close();
}

function assertGivenUp(home: Waiting, reason: RegExp): void {
  const { dataDir, log, lines, clock } = home;
  assertAsBefore(home);
  const left = readdirSync(dataDir).filter((name) => /restore/.test(name));
  const kept = left.find((name) => name.startsWith('restore-given-up-')) ?? '';
  assert.deepEqual(left.sort(), [kept, 'restore-not-done.json']);
  const old = openState(join(dataDir, kept), clock, log);
  assert.equal(siteName(old), 'Old');
  old.close();
  assert.equal(readFileSync(join(dataDir, kept, 'tls', 'authority.pem'), 'utf8'), 'key of Old');
  assert.match(restoreFaultSince(clock.wallMs() - 1, { dataDir, log }) ?? '', reason);
  const told = lines.filter(({ message }) => message.startsWith('the backup was not put back'));
  assert.deepEqual(
    told.map(({ level, kept: path }) => [level, path]),
    [['error', join(dataDir, kept)]],
  );
}

describe('a restore', () => {
  for (const [folder, name] of STEPS) {
    test(`a restore is tried at some starts and then given up when the disk refuses it: ${folder}/${name}`, async (t) => {
      const home = await waiting(t);
      const refuse = refusing(folder, name, 'EBUSY');
      for (let start = 1; start < LIMITS.backup.restoreTries; start++)
        assert.throws(() => applyRestore(home, refuse), { code: 'EBUSY' });
      applyRestore(home, refuse);
      assertGivenUp(home, /EBUSY/);
    });

    test(`a restore is given up at once when it is refused for good: ${folder}/${name}`, async (t) => {
      const home = await waiting(t);
      applyRestore(home, refusing(folder, name, 'EISDIR'));
      assertGivenUp(home, /EISDIR/);
      applyRestore(home);
      assertAsBefore({ ...home, dataDir: withLog(home.dataDir) });
    });

    test(`a restore is done by a later start when it is refused for a while: ${folder}/${name}`, async (t) => {
      const home = await waiting(t);
      assert.throws(() => applyRestore(home, refusing(folder, name, 'EIO')), { code: 'EIO' });
      applyRestore(home);
      const restored = openState(home.dataDir, home.clock, home.log);
      assert.equal(siteName(restored), 'Old');
      restored.close();
      assert.deepEqual(
        readdirSync(home.dataDir).filter((left) => left.startsWith('restore')),
        [],
      );
    });
  }

  test('a restore survives a power cut before each step of the way back when it is given up', async (t) => {
    for (let lastStep = 0; lastStep < 5; lastStep++) {
      const home = await waiting(t);
      const refuse = refusing('restore', 'tls', 'EISDIR');
      let isBack = false;
      let steps = 0;
      const cut: typeof renameSync = (from, to) => {
        isBack ||= existsSync(join(home.dataDir, 'restore', 'back'));
        if (isBack && steps++ === lastStep) throw new Error('power cut');
        refuse(from, to);
      };
      try {
        applyRestore(home, cut);
      } catch (error) {
        assert.match(String(error), /power cut/);
      }
      applyRestore(home);
      assertGivenUp(home, /EISDIR/);
    }
  });

  test('a restore ends the start, which is tried again, when the disk refuses the way back too', async (t) => {
    const home = await waiting(t);
    const refuse: typeof renameSync = (from, to) => {
      if (/restore\/tls$|before-restore-\d+\/state\.db$/.test(String(from)))
        throw Object.assign(new Error('EISDIR: refused'), { code: 'EISDIR' });
      renameSync(from, to);
    };
    for (let start = 0; start < 3; start++)
      assert.throws(() => applyRestore(home, refuse), { code: 'EISDIR' });
    applyRestore(home);
    assertGivenUp(home, /EISDIR/);
  });

  for (const [cutAt, [folder, name]] of STEPS.entries())
    for (const [fault, isCounted] of [
      ['the disk does not return', true],
      ['the disk filled with zeros', false],
    ] as const)
      test(`a restore whose note ${fault} is completed after a power cut before ${folder}/${name}`, async (t) => {
        const home = await waiting(t);
        let steps = 0;
        const cut: typeof renameSync = (from, to) => {
          if (steps++ === cutAt) throw new Error('power cut');
          renameSync(from, to);
        };
        assert.throws(() => applyRestore(home, cut), /power cut/);
        const note = join(home.dataDir, 'restore', 'ready');
        if (isCounted) {
          refuseReads(t, note, 'EIO');
          for (let start = 1; start < LIMITS.backup.restoreTries; start++)
            assert.throws(() => applyRestore(home), { code: 'EIO' });
        } else writeFileSync(note, Buffer.alloc(64));
        applyRestore(home);
        const restored = openState(home.dataDir, home.clock, home.log);
        assert.equal(siteName(restored), 'Old');
        restored.close();
        assert.equal(readFileSync(join(home.dataDir, 'tls', 'authority.pem'), 'utf8'), 'key of Old');
        const kept = readdirSync(home.dataDir).filter((left) => left.startsWith('before-restore-'));
        const before = kept.flatMap((left) => readdirSync(join(home.dataDir, left)));
        assert.deepEqual(before.sort(), ['state.db', 'state.db-wal', 'tls']);
      });

  test('a restore whose note and rest are unreadable says what to do, where there is no state to go on with', async (t) => {
    const home = await waiting(t);
    const cut = refusing('restore', 'state.db', 'EIO');
    for (let start = 1; start < LIMITS.backup.restoreTries; start++)
      assert.throws(() => applyRestore(home, cut), { code: 'EIO' });
    refuseReads(t, join(home.dataDir, 'restore', 'ready'), 'EIO');
    assert.throws(
      () => applyRestore(home, cut),
      /put back by half, .*restore away, and move .*before-restore-/,
    );
    assert.ok(existsSync(join(home.dataDir, 'restore', 'state.db')));
  });

  test('a restore ends the message about one before it when it is done', async (t) => {
    const home = await waiting(t);
    applyRestore(home, refusing('data', 'tls', 'EISDIR'));
    assertGivenUp(home, /EISDIR/);
    await home.restore(home.bytes);
    applyRestore(home);
    assert.equal(restoreFaultSince(-Infinity, home), undefined);
  });
});

/** The log that the assertion before took. */
function withLog(dataDir: string): string {
  writeFileSync(join(dataDir, 'state.db-wal'), 'log of New');
  return dataDir;
}
