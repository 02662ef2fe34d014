/** Hours, days and months of a zone, also where its clocks change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bucketsOf, daysOf } from '../../../src/capabilities/energy/calendar.ts';

const s = (text: string): number => Date.parse(text) / 1_000;
const ZONE = 'Europe/Berlin';

test('a day in spring has 23 hours and one in autumn 25', () => {
  const hours = (from: string): number => (daysOf(ZONE, s(from), s(from) + 1)[0]?.edgesS.length ?? 0) - 1;
  assert.equal(hours('2026-03-29T12:00:00Z'), 23);
  assert.equal(hours('2026-10-25T12:00:00Z'), 25);
  assert.equal(hours('2026-06-01T12:00:00Z'), 24);
});

test('hours of a zone of half an hour begin at its full hours', () => {
  const [day] = daysOf('Asia/Kolkata', s('2026-01-01T12:00:00Z'), s('2026-01-01T12:00:01Z'));
  assert.equal(day?.fromS, s('2025-12-31T18:30:00Z'));
  assert.equal(day?.edgesS[1], s('2025-12-31T19:30:00Z'));
});

test('months are whole ones of the zone, whatever part is asked for', () => {
  assert.deepEqual(bucketsOf(ZONE, 'month', s('2026-03-10T00:00:00Z'), s('2026-04-01T00:00:00Z')), [
    { fromS: s('2026-02-28T23:00:00Z'), toS: s('2026-03-31T22:00:00Z') },
    { fromS: s('2026-03-31T22:00:00Z'), toS: s('2026-04-30T22:00:00Z') },
  ]);
});

test('hours are those that the range touches', () => {
  assert.deepEqual(bucketsOf(ZONE, 'hour', s('2026-06-01T10:30:00Z'), s('2026-06-01T11:00:00Z')), [
    { fromS: s('2026-06-01T10:00:00Z'), toS: s('2026-06-01T11:00:00Z') },
  ]);
});
