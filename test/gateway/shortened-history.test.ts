import assert from 'node:assert/strict';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ShortenedHistory } from '../../src/gateway/shortened-history.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { TestClock } from '../support/test-clock.ts';
import { recordingLog, temporaryFolder } from '../support/workspace.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START_MS = Date.parse('2026-03-01T00:00:00Z');

const removed = (count: number) => [{ removedEarly: count }, undefined];

function box(t: TestContext) {
  const dataDir = temporaryFolder(t);
  /** The gateway starts at a moment of its clock. */
  const start = (atMs: number) => {
    const clock = new TestClock(atMs);
    const { log, lines } = recordingLog(clock);
    return { clock, lines, history: new ShortenedHistory({ dataDir, clock, log, limits: LIMITS.history }) };
  };
  return { note: join(dataDir, 'history-shortened.json'), start };
}

test('history that was removed early is shown for a day, whether or not the gateway restarts', (t) => {
  const { start } = box(t);
  const first = start(START_MS);
  assert.deepEqual([first.history.isRecent(removed(0)), first.history.isRecent(removed(3))], [false, true]);
  // After the start nothing is removed, and counts begin at 0.
  assert.equal(start(START_MS + 23 * HOUR_MS).history.isRecent(removed(0)), true);
  const last = start(START_MS + 23 * HOUR_MS);
  assert.equal(last.history.isRecent(removed(0)), true);
  last.clock.spend(HOUR_MS);
  assert.equal(last.history.isRecent(removed(0)), false);
  assert.equal(start(START_MS + DAY_MS).history.isRecent(removed(0)), false);
});

test('a part that is silent for a moment has removed nothing when it reports again', (t) => {
  const { history, clock } = box(t).start(START_MS);
  assert.equal(history.isRecent([{ removedEarly: 0 }, { removedEarly: 2 }]), true);
  clock.spend(31 * DAY_MS);
  const shown = [undefined, { removedEarly: 2 }, { removedEarly: 0 }, { removedEarly: 1 }];
  assert.deepEqual(
    shown.map((part) => history.isRecent([{ removedEarly: 0 }, part])),
    [false, false, false, true],
  );
});

test('a removal is not reported for years when the clock was ahead', (t) => {
  const { start } = box(t);
  start(START_MS + 3_650 * DAY_MS).history.isRecent(removed(1));
  assert.equal(start(START_MS).history.isRecent(removed(0)), true);
  assert.equal(start(START_MS + DAY_MS).history.isRecent(removed(0)), false);
});

test('a removal is reported after a start with a clock that is behind', (t) => {
  const { start } = box(t);
  start(START_MS).history.isRecent(removed(1));
  const { history, clock } = start(0);
  assert.equal(history.isRecent(removed(0)), true);
  clock.spend(DAY_MS);
  assert.equal(history.isRecent(removed(0)), false);
});

test('a history that loses something every minute is noted once an hour', (t) => {
  const { start, note } = box(t);
  const { history, clock } = start(START_MS);
  const written = new Set<bigint>();
  for (let minute = 0; minute < 180; minute++) {
    history.isRecent(removed(minute + 1));
    written.add(statSync(note, { bigint: true }).ino);
    clock.spend(60_000);
  }
  assert.ok(written.size <= 3, `${written.size} files`);
  assert.equal(start(START_MS + 3 * HOUR_MS + DAY_MS - 4 * HOUR_MS).history.isRecent(removed(0)), true);
});

test('a full history that keeps losing samples is reported for the first day only', (t) => {
  const { start } = box(t);
  const { history, clock } = start(START_MS);
  for (let hour = 1; hour <= 24 * 40; hour++) {
    assert.equal(history.isRecent(removed(hour)), hour <= 24, String(hour));
    clock.spend(HOUR_MS);
  }
  const later = start(START_MS + 40 * DAY_MS);
  assert.equal(later.history.isRecent(removed(1)), false);
  later.clock.spend(31 * DAY_MS);
  assert.equal(later.history.isRecent(removed(2)), true);
});

test('a note that can be neither read nor written is reported and stops nothing', (t) => {
  const { start, note } = box(t);
  writeFileSync(note, 'no JSON');
  assert.equal(start(START_MS).history.isRecent(removed(0)), false);
  mkdirSync(`${note}.new`);
  writeFileSync(join(`${note}.new`, 'in the way'), '');
  const { history, lines } = start(START_MS);
  assert.equal(history.isRecent(removed(1)), true);
  assert.equal(lines.length, 2);
});
