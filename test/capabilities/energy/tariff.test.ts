/** Times of the week of a tariff with two prices, on the clock of the site. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wallQuarters, weeklyTimes } from '../../../src/capabilities/energy/tariff.ts';

const s = (text: string): number => Date.parse(text) / 1_000;
const [MON, FRI, SAT, SUN] = [0, 4, 5, 6];

for (const text of [
  '',
  'weekend',
  'mon 25',
  '22-6',
  'mon-xyz 10:00-11:00',
  '25:00-26:00',
  '10:60-11:00',
  'mon,',
])
  test(`the text ${JSON.stringify(text)} is refused as times of the week`, () => {
    assert.equal(weeklyTimes(text), undefined);
  });

test('times over midnight hold on each weekday for itself', () => {
  const isLow = weeklyTimes('Mon-Fri 22:00-06:00, sat-sun');
  assert.ok(isLow);
  assert.deepEqual(
    [0, 359, 360, 1_319, 1_320, 1_439].map((minute) => isLow(MON, minute)),
    [true, true, false, false, true, true],
  );
  assert.deepEqual([isLow(FRI, 1_439), isLow(SAT, 720), isLow(SUN, 1_439)], [true, true, true]);
});

test('weekdays over Sunday, times without a weekday and one weekday are understood', () => {
  const weekend = weeklyTimes('sat-mon 12:00-13:00; 0:00-1:00; fri');
  assert.ok(weekend);
  assert.deepEqual(
    [weekend(SUN, 720), weekend(MON, 779), weekend(MON, 780), weekend(1, 59), weekend(FRI, 800)],
    [true, true, false, true, true],
  );
});

for (const [title, from, hours, repeated] of [
  ['repeats two o’clock when the clocks go back', '2025-10-25T22:00:00Z', 25, 8],
  ['skips two o’clock when the clocks go forward', '2025-03-29T23:00:00Z', 23, 0],
] as const)
  test(`the clock of the site ${title}`, () => {
    const quarters = [...wallQuarters('Europe/Berlin', s(from), s(from) + hours * 3_600)];
    assert.equal(quarters.length, hours * 4);
    assert.equal(quarters.filter(({ minute }) => minute >= 120 && minute < 180).length, repeated);
    assert.deepEqual(new Set(quarters.map(({ weekday }) => weekday)), new Set([SUN]));
    assert.deepEqual([quarters[0]?.minute, quarters.at(-1)?.minute], [0, 1_425]);
  });

test('the clock of a zone of 45 minutes has whole quarters', () => {
  const [first] = wallQuarters('Asia/Kathmandu', s('2025-06-01T00:00:00Z'), s('2025-06-01T00:15:00Z'));
  assert.deepEqual(first, { quarter: s('2025-06-01T00:00:00Z') / 900, weekday: SUN, minute: 345 });
});
