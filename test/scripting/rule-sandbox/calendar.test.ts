import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { assert as assertProperty, constantFrom, integer, property } from 'fast-check';
import { nextCronMs, nextSunMs } from '../../../src/scripting/rule-sandbox/libraries/calendar-library.ts';
import { startRule } from '../../support/rule-run.ts';
import { TestClock } from '../../support/test-clock.ts';
import { runs } from '../../support/runs.ts';

const DAY_MS = 86_400_000;
/** Fewer looks at the clock, so that a year goes by quickly. */
const PATIENT = { rules: { calendarCheckMs: 6 * 3_600_000 } };
const ZONES = Intl.supportedValuesOf('timeZone');

function civilDay(atMs: number, zone: string): Temporal.PlainDate {
  return Temporal.Instant.fromEpochMilliseconds(atMs).toZonedDateTimeISO(zone).toPlainDate();
}

describe('jobs of the calendar', () => {
  test('a daily job runs exactly once on every civil day of every zone', () => {
    assertProperty(
      property(
        constantFrom(...ZONES),
        integer({ min: 0, max: 23 }),
        integer({ min: 0, max: 59 }),
        integer({ min: 2015, max: 2034 }),
        (zone, hour, minute, year) => {
          let atMs = Date.UTC(year, 0, 1);
          let day: Temporal.PlainDate | undefined;
          for (let count = 0; count < 370; count++) {
            atMs = nextCronMs(`${minute} ${hour} * * *`, zone, atMs) ?? Number.NaN;
            const next = civilDay(atMs, zone);
            // Samoa and Tokelau left out a whole day before these years; no zone does since.
            if (day) assert.equal(day.add({ days: 1 }).toString(), next.toString(), `${zone} ${atMs}`);
            day = next;
          }
        },
      ),
      { numRuns: runs(12) },
    );
  });

  for (const zone of ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Africa/Casablanca'])
    test(`a rule at 02:30 runs once a day through a year in ${zone}`, async () => {
      const clock = new TestClock(Date.UTC(2026, 0, 1, 12));
      const rule = startRule(
        'scheduler.add_cron("30 2 * * *", function() enapter.log(os.date("%Y-%m-%d")) end)',
        { clock, site: { timeZone: zone }, limits: PATIENT },
      );
      await rule.idle();
      await clock.advance(365 * DAY_MS);
      const days = rule.said();
      rule.run.stop();
      assert.equal(days.length, 365);
      assert.equal(new Set(days).size, 365);
    });

  test('jobs of the calendar refuse unknown patterns and events, and sun without a place', async () => {
    const rule = startRule(
      'local f = function() end\n' +
        'print((pcall(scheduler.add_cron, "61 * * * *", f)), (pcall(scheduler.add_sun, "teatime", 0, f)))\n' +
        'print(pcall(scheduler.add_cron, "0 0 31 2 *", f)) print((pcall(scheduler.add_cron, "2020-01-01T00:00:00", f)))\n' +
        'print(scheduler.add_sun("sunset", 0, f)) print(sun.times())\n' +
        'for _, offset in ipairs({ "1h", 0 / 0, math.huge, {} }) do print(pcall(scheduler.add_sun, "sunset", offset, f)) end\n' +
        'print(pcall(scheduler.add_sun, "constructor", 0, f))',
    );
    await rule.idle();
    const tooFar = "false\tbad argument #2 to 'add_sun' (a day at most, in milliseconds)";
    assert.deepEqual(rule.said().slice(0, 10), [
      'false\tfalse',
      'false\tbad argument #1 to \'add_cron\' (there is no moment "0 0 31 2 *")',
      'true',
      'nil\tthe location of the site is not set',
      'nil\tthe location of the site is not set',
      "false\tbad argument #2 to 'add_sun' (number expected, got string)",
      tooFar,
      tooFar,
      "false\tbad argument #2 to 'add_sun' (number expected, got table)",
      'false\tbad argument #1 to \'add_sun\' (unknown event "constructor")',
    ]);
  });

  test('jobs of the calendar do not run before the clock is set, nor for the time that a jump skips', async () => {
    const clock = new TestClock(0);
    const rule = startRule('scheduler.add_cron("0 * * * *", function() print(os.date("%F %T")) end)', {
      clock,
    });
    await rule.idle();
    await clock.advance(2 * 3_600_000);
    assert.deepEqual(rule.said(), []);
    clock.step(Date.UTC(2026, 4, 1, 10, 30) - clock.wallMs());
    await clock.advance(3_600_000);
    assert.deepEqual(rule.said(), ['2026-05-01 11:00:00']);
    rule.run.stop();
  });

  test('jobs of the calendar do not run twice for one civil moment when the clock is put back a little', async () => {
    const clock = new TestClock(Date.UTC(2026, 4, 1, 10, 59, 30));
    const rule = startRule('scheduler.add_cron("0 * * * *", function() print(os.date("%T")) end)', { clock });
    await rule.idle();
    await clock.advance(60_000);
    clock.step(-120_000);
    await clock.advance(3_600_000);
    assert.deepEqual(rule.said(), ['11:00:00']);
    await clock.advance(240_000);
    assert.deepEqual(rule.said(), ['11:00:00', '12:00:00']);
    rule.run.stop();
  });

  test('a moment that a correction of the clock skips runs at once, and what a larger jump skips is left out', async () => {
    const clock = new TestClock(Date.UTC(2026, 4, 1, 10, 59));
    const rule = startRule('scheduler.add_cron("0 * * * *", function() print(os.date("%T")) end)', { clock });
    await rule.idle();
    clock.step(120_000);
    await rule.idle();
    assert.deepEqual(rule.said(), ['11:01:00']);
    await clock.advance(54 * 60_000);
    clock.step(11 * 60_000);
    await clock.advance(3_600_000);
    rule.run.stop();
    assert.deepEqual(rule.said(), ['11:01:00', '13:00:00']);
  });

  test('a moment that a jump skipped runs at its time when the clock is put back', async () => {
    const clock = new TestClock(Date.UTC(2026, 4, 1, 12));
    const rule = startRule('scheduler.add_cron("0 22 * * *", function() print(os.date("%F %T")) end)', {
      clock,
    });
    await rule.idle();
    clock.step(20 * 3_600_000);
    await clock.advance(60_000);
    clock.step(-20 * 3_600_000);
    await clock.advance(12 * 3_600_000);
    rule.run.stop();
    assert.deepEqual(rule.said(), ['2026-05-01 22:00:00']);
  });

  test('jobs of the calendar go on after a clock that was years ahead', async () => {
    const clock = new TestClock(Date.UTC(2036, 4, 1, 10, 59, 30));
    const rule = startRule('scheduler.add_cron("0 * * * *", function() print(os.date("%F %T")) end)', {
      clock,
    });
    await rule.idle();
    await clock.advance(60_000);
    clock.step(Date.UTC(2026, 4, 1, 10, 59) - clock.wallMs());
    await clock.advance(120_000);
    assert.deepEqual(rule.said(), ['2036-05-01 11:00:00', '2026-05-01 11:00:00']);
    rule.run.stop();
  });

  test('jobs of the sun have times of the day, also before sunset', async () => {
    const clock = new TestClock(Date.UTC(2026, 5, 21, 10));
    const site = { timeZone: 'Europe/Berlin', location: { latitude: 52.52, longitude: 13.405 } };
    const rule = startRule(
      'local t = sun.times() print(os.date("%H:%M", t.sunrise), os.date("%H:%M", t.sunset), t.dusk > t.sunset)\n' +
        'print(sun.position().altitude > 50)\n' +
        'scheduler.add_sun("sunset", -3600000, function() print(os.date("%d %H:%M")) end)',
      { clock, site, limits: PATIENT },
    );
    await rule.idle();
    await clock.advance(2 * DAY_MS);
    rule.run.stop();
    assert.deepEqual(rule.said(), ['04:43\t21:33\ttrue', 'true', '21 20:33', '22 20:33']);
  });

  test('a sunset during a polar summer comes weeks later, once a day', () => {
    const site = { timeZone: 'Europe/Oslo', location: { latitude: 69.65, longitude: 18.96 } };
    const fromMs = Date.UTC(2026, 5, 1);
    const firstMs = nextSunMs('sunset', 0, fromMs, site) ?? 0;
    assert.ok(firstMs > fromMs + 40 * DAY_MS && firstMs < fromMs + 70 * DAY_MS);
    const secondMs = nextSunMs('sunset', 0, firstMs, site) ?? 0;
    assert.ok(Math.abs(secondMs - firstMs - DAY_MS) < 3_600_000);
  });
});
