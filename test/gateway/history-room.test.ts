/** The room of history on the disk: what was set aside gives way before what is used does. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { HistoryRoom } from '../../src/gateway/history-room.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../support/workspace.ts';

const MIB = 1_048_576;

function world(t: TestContext, files: Readonly<Record<string, [mib: number, writtenAtS: number]>>) {
  const folder = temporaryFolder(t);
  for (const [name, [mib, atS]] of Object.entries(files)) {
    const path = join(folder, name);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, '');
    truncateSync(path, mib * MIB);
    utimesSync(path, atS, atS);
  }
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  let mayRemove = false;
  const room = new HistoryRoom({
    path: join(folder, 'history.db'),
    journalFolder: join(folder, 'telemetry-journal'),
    maxBytes: 100 * MIB,
    space: {
      room: { totalBytes: 1e12, freeBytes: 9e11 },
      isLow: false,
      onChange: () => () => undefined,
    } as never,
    mayRemove: () => mayRemove,
    clock,
    log,
    limits: LIMITS,
  });
  t.after(() => room.stop());
  return {
    room,
    lines,
    names: () => readdirSync(folder).toSorted(),
    check: async (may: boolean) => {
      mayRemove = may;
      await clock.advance(LIMITS.history.checkIntervalMs);
    },
  };
}

describe('what was set aside of the history', () => {
  test('history that was set aside stays while it leaves half of the room to the one in use', async (t) => {
    const { check, names } = world(t, {
      'history.db': [40, 9],
      'history.db.damaged-1': [20, 1],
      'history.db.of-a': [29, 2],
    });
    await check(true);
    assert.deepEqual(names(), ['history.db', 'history.db.damaged-1', 'history.db.of-a']);
  });

  test('history that was set aside is removed beyond that: damaged copies first, then the oldest of other sites with its journal', async (t) => {
    const { check, names, lines, room } = world(t, {
      'history.db': [10, 9],
      'history.db.damaged-1': [10, 8],
      'history.db.of-a': [30, 1],
      'history.db.of-b': [30, 2],
      'history.db.of-c': [30, 3],
      [join('telemetry-journal.of-a', '1.journal')]: [5, 1],
      [join('telemetry-journal.of-c', '1.journal')]: [5, 3],
    });
    assert.equal(room.usedBytes(), 120 * MIB);
    await check(false);
    assert.equal(names().length, 7);
    await check(true);
    assert.deepEqual(names(), [
      'history.db',
      'history.db.of-c',
      'telemetry-journal.of-a',
      'telemetry-journal.of-c',
    ]);
    assert.equal(lines.filter(({ message }) => message.endsWith('was removed to make room')).length, 3);
  });

  test('history that was set aside is measured also when a file is in the place of the journal’s folder', (t) => {
    const { room } = world(t, { 'history.db': [10, 9], 'telemetry-journal': [1, 1] });
    assert.equal(room.usedBytes(), 10 * MIB);
  });

  test('history that was set aside never loses the newest of another site, which a lost state brings back', async (t) => {
    const { check, names } = world(t, { 'history.db': [10, 9], 'history.db.of-a': [99, 1] });
    await check(true);
    assert.deepEqual(names(), ['history.db', 'history.db.of-a']);
  });
});
