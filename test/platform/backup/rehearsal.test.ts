import assert from 'node:assert/strict';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  applyRestore,
  endRehearsal,
  isRehearsalDue,
  rehearsalIn,
} from '../../../src/platform/backup/index.ts';
import { recordingLog } from '../../support/workspace.ts';
import { type Home, makeHome, openState, rename, siteName } from './support.ts';

const markOf = ({ dataDir }: Home): string => join(dataDir, 'rehearsal.json');

/** The name of the site that the next start would find. */
function siteIn({ dataDir, clock, log }: Home): unknown {
  const database = openState(dataDir, clock, log);
  try {
    return siteName(database);
  } finally {
    database.close();
  }
}

/** Starts that are cut off before one step and go on with the next start; `look` sees what each cut leaves. */
async function withCuts(
  t: Parameters<typeof makeHome>[0],
  prepare: (home: Home, backup: Buffer) => Promise<unknown>,
  look: (home: Home) => void,
): Promise<Home[]> {
  const homes: Home[] = [];
  for (let lastStep = 0, wasCut = true; wasCut; lastStep++) {
    wasCut = false;
    const home = makeHome(t, 'Backup');
    const bytes = await home.backup();
    rename(home.database, 'Here');
    await prepare(home, bytes);
    home.database.close();
    let steps = 0;
    const cut = (from: string, to: string): void => {
      if (steps++ === lastStep) {
        wasCut = true;
        throw new Error('power cut');
      }
      renameSync(from, to);
    };
    try {
      applyRestore(home, cut);
    } catch (error) {
      assert.match(String(error), /power cut/);
    }
    look(home);
    applyRestore(home);
    homes.push(home);
  }
  assert.ok(homes.length > 4, `${homes.length} steps`);
  return homes;
}

describe('a rehearsal', () => {
  test('a rehearsal is marked before the restored state is there, whenever the power is cut', async (t) => {
    const stateOf = ({ dataDir }: Home): string => join(dataDir, 'state.db');
    const homes = await withCuts(
      t,
      (home, backup) => home.rehearse(backup),
      (home) => {
        const isRestored = existsSync(stateOf(home)) && siteIn(home) === 'Backup';
        assert.ok(!isRestored || isRehearsalDue(home.dataDir));
      },
    );
    for (const home of homes) {
      assert.equal(siteIn(home), 'Backup');
      assert.deepEqual(rehearsalIn(home.dataDir, home.log), { beganAtMs: home.clock.wallMs() });
    }
  });

  test('a rehearsal is over once an ordinary backup is restored, whenever the power is cut', async (t) => {
    const homes = await withCuts(
      t,
      async (home, backup) => {
        writeFileSync(markOf(home), '{}');
        await home.restore(backup);
      },
      () => undefined,
    );
    for (const home of homes) {
      assert.equal(siteIn(home), 'Backup');
      assert.equal(rehearsalIn(home.dataDir, home.log), undefined);
    }
  });

  test('a rehearsal goes on when the disk refuses the backup that would end it', async (t) => {
    const home = makeHome(t, 'Backup');
    const bytes = await home.backup();
    rename(home.database, 'Here');
    writeFileSync(markOf(home), '{"beganAtMs":7}');
    await home.restore(bytes);
    home.database.close();
    let isWell = true;
    const refuse = (from: string, to: string): void => {
      // The last step of all.
      if (isWell && from === markOf(home)) {
        isWell = false;
        throw Object.assign(new Error('read-only'), { code: 'EROFS', syscall: 'rename' });
      }
      renameSync(from, to);
    };
    for (let start = 0; start < 10 && existsSync(join(home.dataDir, 'restore')); start++) {
      isWell = true;
      try {
        applyRestore(home, refuse);
      } catch (error) {
        assert.match(String(error), /read-only/);
      }
    }
    assert.equal(siteIn(home), 'Here');
    assert.deepEqual(rehearsalIn(home.dataDir, home.log), { beganAtMs: 7 });
  });

  test('a rehearsal continues although its mark cannot be read, and says so', (t) => {
    const { dataDir, clock } = makeHome(t, 'Backup');
    const { log, lines } = recordingLog(clock);
    assert.equal(rehearsalIn(dataDir, log), undefined);
    writeFileSync(join(dataDir, 'rehearsal.json'), '\0\0');
    assert.deepEqual(rehearsalIn(dataDir, log), { beganAtMs: undefined });
    assert.equal(lines.at(-2)?.message, 'the mark of a rehearsal cannot be read');
  });

  test('a rehearsal is over when it is ended, and ends only once', async (t) => {
    const home = makeHome(t, 'Backup');
    const bytes = await home.backup();
    home.database.close();
    await home.rehearse(bytes);
    assert.equal(isRehearsalDue(home.dataDir), false, 'not before the start');
    applyRestore(home);
    assert.match(readFileSync(markOf(home), 'utf8'), /beganAtMs/);
    endRehearsal(home.dataDir);
    endRehearsal(home.dataDir);
    assert.equal(rehearsalIn(home.dataDir, home.log), undefined);
  });
});
