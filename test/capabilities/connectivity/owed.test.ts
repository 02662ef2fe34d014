import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Owed } from '../../../src/capabilities/connectivity/owed.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';

const { retryMs } = LIMITS.commits;

function startOwed() {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const disk = { fails: true, syncs: 0 };
  const durable = async (): Promise<void> => {
    disk.syncs++;
    if (disk.fails) throw new Error('the disk fails');
  };
  return { clock, lines, disk, owed: new Owed({ clock, log, durable }) };
}

test('who is owed something is told after the first sync that succeeds, once, and under each key the newest', async () => {
  const { clock, lines, disk, owed } = startOwed();
  const told: string[] = [];
  owed.add('a', () => told.push('old'));
  owed.add('b', () => told.push('b'));
  owed.add('a', () => told.push('a'));
  await clock.advance(120 * retryMs);
  assert.deepEqual(told, []);
  assert.deepEqual([owed.has('a'), owed.has('b'), owed.has('c')], [true, true, false]);
  assert.equal(disk.syncs, 120);
  assert.ok(lines.length <= 3, 'it is told once a minute');
  disk.fails = false;
  await clock.advance(retryMs);
  assert.deepEqual(told, ['a', 'b']);
  assert.equal(owed.has('a'), false);
  assert.equal(clock.waiting, 0);
});

test('what is owed again while it is told is tried again, and nothing after the stop', async () => {
  const { clock, disk, owed } = startOwed();
  let told = 0;
  const tell = (): void => {
    told++;
    if (told === 1) owed.add('a', tell);
  };
  disk.fails = false;
  owed.add('a', tell);
  await clock.advance(2 * retryMs);
  assert.equal(told, 2);
  owed.add('a', tell);
  owed.stop();
  owed.add('b', tell);
  await clock.advance(2 * retryMs);
  assert.equal(told, 2);
  assert.equal(clock.waiting, 0);
});
