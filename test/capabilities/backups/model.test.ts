import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  backupName,
  type BackupOutcome,
  type BackupPlan,
  isDue,
  isOverdue,
  namesToRemove,
  PLAN_DEFAULT,
} from '../../../src/capabilities/backups/model.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** In Berlin it is an hour later. */
const at = (text: string): number => Date.parse(`2026-03-${text}:00Z`);
const plan = (change: Partial<BackupPlan>): BackupPlan => ({ ...PLAN_DEFAULT, schedule: 'DAILY', ...change });
const good = (atMs: number): BackupOutcome => ({
  goodAtMs: atMs,
  goodName: 'x',
  goodBytes: 1,
  triedAtMs: atMs,
  fault: null,
});

describe('a backup is due', () => {
  const rows: [
    title: string,
    plan: BackupPlan,
    last: BackupOutcome | undefined,
    now: number,
    due: boolean,
  ][] = [
    ['never without a schedule', plan({ schedule: 'OFF' }), undefined, at('10T02:30'), false],
    ['not before its minute', plan({}), good(at('09T02:15')), at('10T02:14'), false],
    ['from its minute on, of the site’s clock', plan({}), good(at('09T02:15')), at('10T02:15'), true],
    ['once a day', plan({}), good(at('10T02:15')), at('10T22:00'), false],
    ['at once after days without power', plan({}), good(at('07T02:15')), at('10T00:00'), true],
    ['at its minute when there was none yet', plan({}), undefined, at('10T02:15'), true],
    ['not at any other time when there was none yet', plan({}), undefined, at('10T00:15'), false],
    [
      'a week after the last weekly one',
      plan({ schedule: 'WEEKLY' }),
      good(at('03T02:15')),
      at('10T02:15'),
      true,
    ],
    ['not six days after it', plan({ schedule: 'WEEKLY' }), good(at('04T02:15')), at('10T12:15'), false],
    ['when the last one is of a clock that was ahead', plan({}), good(at('20T02:15')), at('10T02:15'), true],
    [
      'not within the pause after a failure',
      plan({}),
      { ...good(at('08T02:15')), triedAtMs: at('10T02:15'), fault: 'no stick' },
      at('10T03:00'),
      false,
    ],
    [
      'after that pause',
      plan({}),
      { ...good(at('08T02:15')), triedAtMs: at('10T02:15'), fault: 'no stick' },
      at('10T03:15'),
      true,
    ],
  ];
  for (const [title, one, last, wallMs, due] of rows)
    test(title, () =>
      assert.equal(isDue(one, last, { wallMs, timeZone: 'Europe/Berlin', retryMs: HOUR }), due),
    );
});

describe('backups are overdue', () => {
  test('backups are never overdue without a schedule', () => {
    assert.equal(isOverdue(plan({ schedule: 'OFF' }), undefined, at('20T00:00')), false);
  });

  test('backups are overdue when the last good one is older than the plan allows, and not before', () => {
    const last = good(at('10T02:15'));
    assert.equal(isOverdue(plan({}), last, at('10T02:15') + 3 * DAY), false);
    assert.equal(isOverdue(plan({}), last, at('10T02:15') + 3 * DAY + 1), true);
  });

  test('backups are overdue when the last try failed and the last good one is of a clock that was ahead', () => {
    const ahead = good(at('20T02:15'));
    assert.equal(isOverdue(plan({}), ahead, at('10T02:15')), false);
    assert.equal(isOverdue(plan({}), { ...ahead, fault: 'no stick' }, at('10T02:15')), true);
  });

  test('backups are not overdue right after the plan was changed, so that a new plan has its time', () => {
    assert.equal(isOverdue(plan({ changedAtMs: at('10T00:00') }), undefined, at('12T00:00')), false);
  });
});

describe('backups at a target', () => {
  const DEPOT = { id: '3f0c6a52-6a0e-4d0e-9b52-0c6f3f0f7a11', slug: 'depot' };
  const name = (day: string, owner = DEPOT) => backupName(owner, at(`${day}T02:15`));

  test('the name of a backup has no character that a stick refuses', () => {
    assert.equal(name('10'), 'depot-3f0c6a52-20260310T021500Z.backup');
  });

  test('backups beyond the number to keep are removed, oldest first, and no other file is', () => {
    const there = [
      name('12'),
      name('10'),
      name('11'),
      'depot-2026.backup',
      'other-20260301T021500Z.backup',
      name('01', { ...DEPOT, id: '11111111-6a0e-4d0e-9b52-0c6f3f0f7a11' }),
      'x',
    ];
    assert.deepEqual(namesToRemove(there, DEPOT, 2, name('12')), [name('10')]);
    assert.deepEqual(namesToRemove(there, DEPOT, 3, name('12')), []);
  });

  test('backups made under an earlier name of the site are removed in their turn', () => {
    const there = [
      name('12'),
      name('11', { ...DEPOT, slug: 'yard' }),
      name('10', { ...DEPOT, slug: 'yard-2' }),
    ];
    const sorted = there.toReversed();
    assert.deepEqual(namesToRemove(there, DEPOT, 2, name('12')), sorted.slice(0, 1));
    assert.deepEqual(namesToRemove(there, DEPOT, 1, name('12')), sorted.slice(0, 2));
  });

  test('a new backup stays although the clock that names it is behind', () => {
    const there = [name('12'), name('10'), name('11')];
    assert.deepEqual(namesToRemove(there, DEPOT, 2, name('10')), [name('11')]);
    assert.deepEqual(namesToRemove(there, DEPOT, 1, name('10')), [name('11'), name('12')]);
  });

  test('backups of a clock that was ahead go first, and block no later ones', () => {
    const there = [name('27'), name('09'), name('28'), name('10')];
    assert.deepEqual(namesToRemove(there, DEPOT, 3, name('10')), [name('27')]);
    assert.deepEqual(namesToRemove(there, DEPOT, 2, name('10')), [name('27'), name('28')]);
  });

  test('files that a power cut left half written are removed', () => {
    const there = [`${name('10')}.part`, name('11')];
    assert.deepEqual(namesToRemove(there, DEPOT, 2, name('11')), [`${name('10')}.part`]);
  });
});
