import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DeferredNotices } from '../../../src/capabilities/connectivity/device-notices.ts';
import { LIMITS } from '../../../src/lib/limits.ts';
import { TestClock } from '../../support/test-clock.ts';
import { recordingLog } from '../../support/workspace.ts';

const { retryMs } = LIMITS.commits;

function startDeferred() {
  const clock = new TestClock();
  const { log, lines } = recordingLog(clock);
  const disk = { fails: true, syncs: 0 };
  const durable = async (): Promise<void> => {
    disk.syncs++;
    if (disk.fails) throw new Error('the disk fails');
  };
  return { clock, lines, disk, deferred: new DeferredNotices({ clock, log, durable }) };
}

test('a notice that waits for a sync is sent once after the next successful sync, the newest of each key', async () => {
  const { clock, lines, disk, deferred } = startDeferred();
  const told: string[] = [];
  deferred.add('a', () => told.push('old'));
  deferred.add('b', () => told.push('b'));
  deferred.add('a', () => told.push('a'));
  await clock.advance(120 * retryMs);
  assert.deepEqual(told, []);
  assert.deepEqual([deferred.has('a'), deferred.has('b'), deferred.has('c')], [true, true, false]);
  assert.equal(disk.syncs, 120);
  assert.ok(lines.length <= 3, 'it is told once a minute');
  disk.fails = false;
  await clock.advance(retryMs);
  assert.deepEqual(told, ['a', 'b']);
  assert.equal(deferred.has('a'), false);
  assert.equal(clock.waiting, 0);
});

test('a notice deferred again while it is sent is tried again, and none is sent after the stop', async () => {
  const { clock, disk, deferred } = startDeferred();
  let told = 0;
  const tell = (): void => {
    told++;
    if (told === 1) deferred.add('a', tell);
  };
  disk.fails = false;
  deferred.add('a', tell);
  await clock.advance(2 * retryMs);
  assert.equal(told, 2);
  deferred.add('a', tell);
  deferred.stop();
  deferred.add('b', tell);
  await clock.advance(2 * retryMs);
  assert.equal(told, 2);
  assert.equal(clock.waiting, 0);
});
