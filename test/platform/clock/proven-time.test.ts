import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { array, assert as assertProperty, constant, constantFrom, oneof, property, record } from 'fast-check';
import { CLOCK_PLAUSIBLE_FROM_MS, keepProvenTime, ProvenTime } from '../../../src/platform/clock/index.ts';
import { TestClock } from '../../support/test-clock.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import { runs } from '../../support/runs.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

describe('proven time', () => {
  test('proven time is not known before the clock was ever set', () => {
    const { proven } = new TestClock(0);
    assert.equal(proven.nowMs(), undefined);
    assert.equal(proven.olderThan(DAY_MS), undefined);
  });

  test('proven time passes with monotonic time and never follows a clock that leaps ahead, however long it stays', async () => {
    const clock = new TestClock();
    const startMs = clock.wallMs();
    clock.step(365 * DAY_MS);
    await clock.advance(3 * DAY_MS);
    assert.equal(clock.proven.nowMs(), startMs + 3 * DAY_MS);
    clock.step(-365 * DAY_MS);
    assert.equal(clock.proven.nowMs(), startMs + 3 * DAY_MS);
  });

  test('proven time is never later than the wall clock, so that no stamp looks older than it is', () => {
    const clock = new TestClock();
    clock.step(-HOUR_MS);
    assert.equal(clock.proven.nowMs(), clock.wallMs());
  });

  test('proven time gives no age to stamps of a clock that was not set', () => {
    assert.equal(new TestClock().proven.olderThan(DAY_MS)?.fromMs, CLOCK_PLAUSIBLE_FROM_MS);
  });

  test('proven time goes on while the clock is not set, when an earlier run had proven some', async () => {
    const clock = new TestClock(0);
    clock.proven.resume(CLOCK_PLAUSIBLE_FROM_MS + DAY_MS);
    await clock.advance(HOUR_MS);
    assert.equal(clock.proven.nowMs(), CLOCK_PLAUSIBLE_FROM_MS + DAY_MS + HOUR_MS);
  });
});

describe('the file of proven time', () => {
  function keep(folder: string, clock: TestClock) {
    const [unreadable, failures]: [unknown[], unknown[]] = [[], []];
    const file = keepProvenTime({
      clock,
      path: join(folder, 'proven-time.json'),
      witnessPath: join(folder, 'state.db'),
      onUnreadable: (error) => void unreadable.push(error),
      onFailure: (error) => void failures.push(error),
    });
    return { ...file, unreadable, failures };
  }

  test('the file of proven time lets the next run go on from there, although its clock starts years ahead', async (t) => {
    const folder = temporaryFolder(t);
    const first = new TestClock();
    const file = keep(folder, first);
    await first.advance(HOUR_MS);
    file.stop();
    const next = new TestClock(first.wallMs() + 3_650 * DAY_MS);
    keep(folder, next);
    assert.equal(next.proven.nowMs(), first.wallMs());
  });

  test('the file of proven time costs a killed run ten minutes at most, and is written at once when the clock goes back', async (t) => {
    const folder = temporaryFolder(t);
    const clock = new TestClock();
    keep(folder, clock);
    await clock.advance(HOUR_MS + 599_000);
    const saved = (): number =>
      (JSON.parse(readFileSync(join(folder, 'proven-time.json'), 'utf8')) as { proven_ms: number }).proven_ms;
    assert.equal(saved(), clock.wallMs() - 599_000);
    clock.step(-DAY_MS);
    assert.equal(saved(), clock.wallMs());
  });

  test('the file of proven time begins with the last change of the database when there is none yet', (t) => {
    const folder = temporaryFolder(t);
    const clock = new TestClock();
    const changedMs = clock.wallMs() - 30 * DAY_MS;
    writeFileSync(join(folder, 'state.db'), '');
    utimesSync(join(folder, 'state.db'), changedMs / 1_000, changedMs / 1_000);
    keep(folder, clock);
    assert.equal(clock.proven.nowMs(), changedMs);
  });

  test('the file of proven time counts as absent when it is damaged; a failed write is logged and ends nothing', (t) => {
    const folder = temporaryFolder(t);
    const path = join(folder, 'proven-time.json');
    writeFileSync(path, '{"proven_ms":');
    const clock = new TestClock();
    const { unreadable, failures: none } = keep(folder, clock);
    assert.deepEqual([unreadable.length, none], [1, []]);
    assert.equal(clock.proven.nowMs(), clock.wallMs());
    const { failures } = keep('/proc/gone', clock);
    assert.equal(failures.length, 1);
  });

  test('the file of proven time counts as absent when it cannot be read, is logged and ends nothing', (t) => {
    const folder = temporaryFolder(t);
    mkdirSync(join(folder, 'proven-time.json'));
    const clock = new TestClock();
    const { unreadable, failures } = keep(folder, clock);
    assert.match(String(unreadable[0]), /is a folder where a file is expected/);
    assert.match(String(failures[0]), /proven-time\.json\.new' -> /);
    assert.equal(clock.proven.nowMs(), clock.wallMs());
  });
});

const LIFETIME_MS = 30 * DAY_MS;

const step = oneof(
  { weight: 4, arbitrary: constant({ kind: 'store' as const }) },
  {
    weight: 4,
    arbitrary: record({
      kind: constant('pass' as const),
      passMs: constantFrom(1_000, HOUR_MS, DAY_MS, 20 * DAY_MS, 40 * DAY_MS),
    }),
  },
  {
    weight: 3,
    arbitrary: record({
      kind: constant('jump' as const),
      jumpMs: constantFrom(
        HOUR_MS,
        -HOUR_MS,
        2 * HOUR_MS,
        50 * DAY_MS,
        -50 * DAY_MS,
        3_650 * DAY_MS,
        -3_650 * DAY_MS,
      ),
    }),
  },
  { weight: 1, arbitrary: constant({ kind: 'dead' as const }) },
  { weight: 2, arbitrary: constant({ kind: 'right' as const }) },
  // Killed: the next run knows what was saved last, and starts with whatever the clock shows by then.
  {
    weight: 3,
    arbitrary: record({
      kind: constant('reboot' as const),
      offMs: constantFrom(0, HOUR_MS, 60 * DAY_MS),
      isDead: constantFrom(true, false),
    }),
  },
);

describe('whatever the clock does, over kills and reboots', () => {
  test('nothing is deleted before its age, whatever the clock does, over kills and reboots', () => {
    assertProperty(
      property(array(step, { maxLength: 40 }), (steps) => {
        let trueMs = Date.UTC(2027, 5, 1);
        let offMs = 0;
        let upMs = 0;
        const readings = {
          wallMs: () => trueMs + offMs,
          monotonicMs: () => upMs,
          isSet: () => trueMs + offMs >= CLOCK_PLAUSIBLE_FROM_MS,
        };
        let proven = new ProvenTime(readings);
        let savedMs = proven.nowMs();
        const save = (): void => {
          savedMs = proven.nowMs() ?? savedMs;
        };
        let rows: { stampMs: number; storedMs: number }[] = [];
        for (const one of steps) {
          if (one.kind === 'store') rows.push({ stampMs: readings.wallMs(), storedMs: trueMs });
          else if (one.kind === 'pass') {
            trueMs += one.passMs;
            upMs += one.passMs;
            save();
          } else if (one.kind === 'reboot') {
            trueMs += one.offMs;
            upMs = 0;
            if (one.isDead) offMs = -trueMs;
            proven = new ProvenTime(readings);
            if (savedMs !== undefined) proven.resume(savedMs);
            save();
          } else {
            offMs = one.kind === 'jump' ? offMs + one.jumpMs : one.kind === 'right' ? 0 : -trueMs;
            save();
          }
          const old = proven.olderThan(LIFETIME_MS);
          if (!old) continue;
          const isOld = ({ stampMs }: { stampMs: number }): boolean =>
            stampMs >= old.fromMs && stampMs < old.beforeMs;
          for (const row of rows.filter(isOld))
            assert.ok(trueMs - row.storedMs >= LIFETIME_MS, `deleted after ${trueMs - row.storedMs} ms`);
          rows = rows.filter((row) => !isOld(row));
        }
      }),
      { numRuns: runs(3_000) },
    );
  });
});
