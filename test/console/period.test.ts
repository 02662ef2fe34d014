/** Days, weeks, months and years where the site is. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { edgesOf, periodAt, periodLater, periodText, unitOf } from '../../src/console/period.ts';

const BERLIN = 'Europe/Berlin';

describe('periods', () => {
  const weeks: [day: string, week: string][] = [
    ['2026-11-22', '2026-W47'],
    ['2026-11-23', '2026-W48'],
    ['2024-12-30', '2025-W01'],
    ['2027-01-01', '2026-W53'],
    ['2027-01-04', '2027-W01'],
    ['2023-01-01', '2022-W52'],
  ];
  for (const [day, week] of weeks)
    test(`${day} is in ${week}`, () => {
      assert.equal(periodAt('week', Date.parse(`${day}T12:00:00Z`), BERLIN), week);
    });

  test('a week begins on Monday at midnight where the site is, and has seven days on which clocks may turn', () => {
    const ofWeek = (week: string): string[] => edgesOf(week, BERLIN).map((ms) => new Date(ms).toISOString());
    assert.deepEqual(ofWeek('2026-W43'), ['2026-10-18T22:00:00.000Z', '2026-10-25T23:00:00.000Z']);
    assert.deepEqual(ofWeek('2026-W53'), ['2026-12-27T23:00:00.000Z', '2027-01-03T23:00:00.000Z']);
  });

  test('the next period may be in another year', () => {
    for (const [period, by, later] of [
      ['2026-W53', 1, '2027-W01'],
      ['2027-W01', -1, '2026-W53'],
      ['2024-02-29', 1, '2024-03-01'],
      ['2026-12', 1, '2027-01'],
      ['2026', -1, '2025'],
    ] as const)
      assert.equal(periodLater(period, by), later);
  });

  test('other texts are no periods', () => {
    assert.deepEqual(
      ['2026', '2026-W48', '2026-11', '2026-11-23', '2026-13', '2026-W54', '2026-W00', 'now', undefined].map(
        unitOf,
      ),
      ['year', 'week', 'month', 'day', undefined, undefined, undefined, undefined, undefined],
    );
  });

  test('a week is written with its first and last day', () => {
    // Browsers and this program put thin spaces around the dash.
    const written = periodText('2026-W47').replace(/\s/g, ' ');
    assert.equal(written, '16 – 22 Nov 2026');
  });
});
