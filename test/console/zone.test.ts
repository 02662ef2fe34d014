/** Times of the console are those where the site is, whatever the clock of the browser shows. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { sinceText } from '../../src/console/alerts/since.ts';
import { periodText } from '../../src/console/alerts/words.ts';
import { bodyOf, typedOf } from '../../src/console/box/target-typed.ts';
import { clockText, momentText } from '../../src/console/format.ts';
import { isOtherZone, ownZone, zone } from '../../src/console/zone.ts';

/** It is the next day in Auckland, and the day before in Honolulu. */
const EVENING = '2026-11-22T22:30:00Z';
const NIGHT_MS = Date.parse('2026-11-23T01:15:00Z');

describe('times where the site is', () => {
  beforeEach(() => {
    zone.value = undefined;
  });
  afterEach(() => {
    zone.value = undefined;
  });

  const rows: [timeZone: string, moment: string, clock: string, since: string, first: string][] = [
    ['Pacific/Auckland', '23 Nov 2026, 11:30:00', '11:30:00', 'since 11:30', '2026-02-28T11:00:00.000Z'],
    ['Pacific/Honolulu', '22 Nov 2026, 12:30:00', '12:30:00', 'since 12:30', '2026-03-01T10:00:00.000Z'],
    ['UTC', '22 Nov 2026, 22:30:00', '22:30:00', 'since 22 Nov 2026, 22:30', '2026-03-01T00:00:00.000Z'],
  ];
  for (const [timeZone, moment, clock, since, first] of rows)
    test(`times where the site is are written and taken as clocks show them in ${timeZone}`, () => {
      zone.value = timeZone;
      assert.equal(momentText(EVENING), moment);
      assert.equal(clockText(EVENING), clock);
      assert.equal(sinceText(EVENING, NIGHT_MS), since);
      const typed = { ...typedOf(undefined, (name) => name), historyFrom: '2026-03-01' };
      assert.equal(bodyOf(typed, undefined)['history_from'], first);
    });

  test('times where the site is show the day once if an alert was raised and cleared on the same day', () => {
    zone.value = 'Pacific/Auckland';
    const alert = { raised_at: EVENING, cleared_at: new Date(NIGHT_MS).toISOString() };
    assert.equal(periodText(alert), '23 Nov 2026, 11:30:00 – 14:15:00');
    zone.value = 'UTC';
    assert.equal(periodText(alert), '22 Nov 2026, 22:30:00 – 23 Nov 2026, 01:15:00');
  });

  test("times where the site is differ from the browser's only if the clocks do, whatever the name of the zone", (t) => {
    const own = process.env['TZ'];
    t.after(() => {
      if (own === undefined) delete process.env['TZ'];
      else process.env['TZ'] = own;
    });
    const rows: [site: string, person: string, isOther: boolean][] = [
      ['Asia/Kolkata', 'Asia/Calcutta', false],
      ['Europe/Vienna', 'Europe/Berlin', false],
      ['Europe/London', 'Europe/Lisbon', false],
      // The same in winter only.
      ['Africa/Algiers', 'Europe/Berlin', true],
      ['Asia/Kathmandu', 'Asia/Kolkata', true],
    ];
    for (const [site, person, isOther] of rows) {
      process.env['TZ'] = person;
      zone.value = site;
      assert.equal(isOtherZone(), isOther, `${site} seen from ${ownZone()}`);
    }
  });
});
