/** Courses of prices and forecasts: what recorded answers become, also on days when the clocks change. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { system, testScript } from '../support/lua.ts';
import { books, compileFromLibrary } from './library-files.ts';

interface Schedule {
  start: number;
  step_s: number;
  values: (number | null)[];
}

const NOW = '2026-10-25T12:00:00Z';
const epochS = (time: string): number => Date.parse(time) / 1_000;

interface Question {
  template: string;
  answer?: unknown;
  /** An answer that is a CSV file. */
  file?: string;
  header?: number;
  settings?: Record<string, unknown>;
  attribute?: string;
  now?: string;
  timeZone?: string;
}

/** The schedule that a template of the library makes of an answer. */
const scheduleOf = async (question: Question): Promise<Schedule | null> =>
  (await readingOf(question)).schedule;

/** A schedule, and what the log says of the answer. */
async function readingOf(question: Question): Promise<{ schedule: Schedule | null; faults: string | null }> {
  const { template, answer = null, settings = {}, attribute = 'energy_price_schedule' } = question;
  const { files } = compileFromLibrary(template);
  const module = (text: string | undefined) => ({ file: 'm.lua', source: Buffer.from(text ?? '') });
  const { run, printed } = testScript({
    // A long file takes more than a script's share of the processor, which pauses it.
    clock: system,
    timeZone: question.timeZone ?? 'Europe/Berlin',
    modules: {
      template: module('return { start = function(plan) PLAN = plan end }'),
      schedule: module(books.runtime['schedule.lua']),
      'json-transport': module(books.runtime['json-transport.lua']),
      csv: module(books.runtime['csv.lua']),
      'http-transport': module('return {}'),
      'clock-transport': module('return {}'),
    },
  });
  const text = (value: unknown): string => `json.decode([==[${JSON.stringify(value)}]==])`;
  const { separator = ';', decimal = ',' } = settings;
  const content =
    question.file === undefined
      ? text(answer)
      : `require('csv').rows([==[${question.file}]==], { separator = '${String(separator)}', decimal = '${String(decimal)}', header = ${question.header ?? 1} })`;
  const failure = await run(`${files['lua/main.lua']}
    for _, group in ipairs(PLAN.groups) do
      for _, rule in ipairs(group.schedules or {}) do
        if rule.name == '${attribute}' then
          local course, faults =
            require('schedule').of(rule, ${content}, ${text(settings)}, ${epochS(question.now ?? NOW)})
          print(json.encode({ schedule = course, faults = faults }))
        end
      end
    end`);
  assert.equal(failure, undefined);
  return { schedule: null, faults: null, ...(JSON.parse(printed[0] ?? '{}') as object) };
}

/** Local hours of a day as a service with offsets writes them, and a value for each. */
function hoursOf(fromIso: string, count: number, offsetsH: (hour: number) => number): unknown[] {
  return Array.from({ length: count }, (_, hour) => {
    const offsetH = offsetsH(hour);
    const local = new Date(Date.parse(fromIso) + (hour + offsetH) * 3_600_000).toISOString().slice(0, 19);
    return { total: hour / 100, startsAt: `${local}.000+0${offsetH}:00` };
  });
}

const tibber = (today: unknown[], tomorrow: unknown[] | null): unknown => ({
  data: { viewer: { homes: [{ currentSubscription: { priceInfo: { today, tomorrow } } }] } },
});

describe('a schedule', () => {
  test('a schedule has 100 quarters for the day on which the clocks go back', async () => {
    const today = hoursOf('2026-10-24T22:00:00Z', 25, (hour) => (hour < 3 ? 2 : 1));
    const schedule = await scheduleOf({ template: 'tibber/price', answer: tibber(today, []) });
    assert.equal(schedule?.start, epochS('2026-10-24T22:00:00Z'));
    assert.equal(schedule.step_s, 900);
    assert.equal(schedule.values.length, 100);
    assert.deepEqual(
      schedule.values,
      Array.from({ length: 100 }, (_, quarter) => Math.floor(quarter / 4) / 100),
    );
  });

  test('a schedule has 92 quarters for the day on which the clocks go forward', async () => {
    const today = hoursOf('2027-03-27T23:00:00Z', 23, (hour) => (hour < 2 ? 1 : 2));
    const schedule = await scheduleOf({ template: 'tibber/price', answer: tibber(today, null) });
    assert.equal(schedule?.start, epochS('2027-03-27T23:00:00Z'));
    assert.equal(schedule.values.length, 92);
  });

  test('a schedule joins today and tomorrow, in quarters where the service has them', async () => {
    const quarter = (index: number): unknown => ({
      total: index / 1_000,
      startsAt: new Date(Date.parse('2026-11-01T23:00:00Z') + index * 900_000).toISOString(),
    });
    const [today, tomorrow] = [[0, 1, 2, 3].map(quarter), [4, 5].map(quarter)];
    const schedule = await scheduleOf({ template: 'tibber/price', answer: tibber(today, tomorrow) });
    assert.deepEqual(schedule?.values.slice(0, 5), [0, 0.001, 0.002, 0.003, 0.004]);
    // The last value lasts as long as the one before.
    assert.equal(schedule?.values.length, 6);
  });

  test('a schedule keeps null where the service has no price or leaves an hour out', async () => {
    const at = epochS('2026-11-01T00:00:00Z');
    const missing = await scheduleOf({
      template: 'energy-charts/price',
      answer: { unix_seconds: [at, at + 900, at + 1_800], price: [10, null, 30] },
    });
    assert.deepEqual(missing, { start: at, step_s: 900, values: [0.01, null, 0.03] });
    const hour = (index: number) => ({ start_timestamp: (at + index * 3_600) * 1_000, marketprice: index });
    const leftOut = await scheduleOf({
      template: 'awattar/price-de',
      answer: { data: [hour(0), hour(1), hour(3)] },
    });
    assert.deepEqual(
      leftOut?.values,
      [0, 0.001, null, 0.003].flatMap((price) => [price, price, price, price]),
    );
  });

  test('a schedule takes times as keys in any order and fills the night with zero', async () => {
    const schedule = await scheduleOf({
      template: 'forecast-solar/forecast',
      attribute: 'forecast_power_schedule',
      answer: {
        result: {
          watts: {
            '2026-11-29T07:00:00+00:00': 40,
            '2026-11-28T14:00:00+00:00': 90,
            '2026-11-28T15:10:00+00:00': 20,
            '2026-11-28 13:00:00': 300,
          },
        },
      },
    });
    assert.equal(schedule?.start, epochS('2026-11-28T13:00:00Z'));
    // An entry at 15:10 holds from the next quarter on.
    assert.deepEqual(
      schedule.values.slice(0, 14),
      [300, 300, 300, 300, 90, 90, 90, 90, 0, 20, 20, 20, 20, 0],
    );
    assert.equal(schedule.values.length, 18 * 4 + 4);
  });

  test('a schedule bounds a price that holds until further notice to four days around now', async () => {
    const schedule = await scheduleOf({
      template: 'octopus/price',
      answer: { results: [{ value_inc_vat: 25.5, valid_from: '2020-01-01T00:00:00Z', valid_to: null }] },
    });
    assert.equal(schedule?.start, epochS('2026-10-24T00:00:00Z'));
    assert.deepEqual(new Set(schedule.values), new Set([0.255]));
    assert.equal(schedule.values.length, 4 * 96);
  });

  test('a schedule has at most five days of an answer', async () => {
    const at = epochS('2026-11-01T00:00:00Z');
    const hours = Array.from({ length: 400 }, (_, index) => at + index * 3_600);
    const schedule = await scheduleOf({
      template: 'energy-charts/price',
      answer: { unix_seconds: hours, price: hours.map(() => 1) },
    });
    assert.equal(schedule?.values.length, 480);
  });

  for (const [title, answer] of [
    ['no list', { data: 'busy' }],
    ['an empty list', { data: [] }],
    ['prices that are no numbers', { data: [{ start_timestamp: 1, marketprice: 'n/a' }] }],
    ['times that are none', { data: [{ start_timestamp: 'soon', marketprice: 1 }] }],
    ['items that are no objects', { data: [1, 'a', null] }],
  ] as const)
    test(`a schedule is absent when the answer has ${title}`, async () => {
      assert.equal(await scheduleOf({ template: 'awattar/price-de', answer }), null);
    });
});

describe('a tariff with two prices', () => {
  const settings = { price: 0.34, low_price: 0.26 };
  /** Local time of each first low quarter, and how many follow. */
  async function lowRuns(low_times: string, now = NOW): Promise<string[]> {
    const schedule = await scheduleOf({
      template: 'tariff/two-rate',
      settings: { ...settings, low_times },
      now,
    });
    assert.ok(schedule);
    const local = new Intl.DateTimeFormat('en-GB', {
      timeZone: 'Europe/Berlin',
      weekday: 'short',
      hour: '2-digit',
      minute: '2-digit',
    });
    const found: string[] = [];
    let length = 0;
    for (const [index, value] of [...schedule.values, null].entries()) {
      if (value === 0.26) length++;
      else if (length > 0) {
        const startS = schedule.start + (index - length) * 900;
        found.push(`${local.format(startS * 1_000)} ${length / 4} h`);
        length = 0;
      }
    }
    return found;
  }

  test('a tariff with two prices is low at its times in the time zone of the site, an hour longer when the clocks go back', async () => {
    assert.deepEqual(await lowRuns('22:00-06:00'), [
      'Sat 02:00 4 h',
      'Sat 22:00 9 h',
      'Sun 22:00 8 h',
      'Mon 22:00 8 h',
      'Tue 22:00 3 h',
    ]);
  });

  test('a tariff with two prices is low on its weekdays, each day for itself', async () => {
    assert.deepEqual(await lowRuns('mon-fri 22:00-06:00, Sat-Sun'), [
      'Sat 02:00 53 h',
      'Mon 22:00 8 h',
      'Tue 22:00 3 h',
    ]);
    assert.deepEqual(await lowRuns('tue 12:30-13:15'), ['Tue 12:30 0.75 h']);
    assert.deepEqual(await lowRuns('fri-mon 12:00-13:00'), [
      'Sat 12:00 1 h',
      'Sun 12:00 1 h',
      'Mon 12:00 1 h',
    ]);
  });

  for (const text of ['', 'weekend', 'mon 25', '22-6', 'mon-xyz 10:00-11:00'])
    test(`a tariff with two prices is never low when its times are ${JSON.stringify(text)}`, async () => {
      assert.deepEqual(await lowRuns(text), []);
    });
});

describe('a CSV file of prices', () => {
  const settings = { time_column: 'time', price_column: 'price', factor: 1, separator: ';', decimal: ',' };
  const read = (file: string, more: Partial<Question> = {}) =>
    readingOf({
      template: 'tariff/csv',
      file,
      ...more,
      settings: { ...settings, ...more.settings },
    });
  const pad = (count: number): string => String(count).padStart(2, '0');

  /** Lines of local times as a calendar of the zone has them, with the number of the quarter as price. */
  function quartersOfDay(fromIso: string, count: number): string[] {
    const local = new Intl.DateTimeFormat('de-DE', {
      timeZone: 'Europe/Berlin',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
    });
    return Array.from({ length: count }, (_, quarter) => {
      const time = local.format(Date.parse(fromIso) + quarter * 900_000).replace(',', '');
      return `${time};0,${String(quarter).padStart(3, '0')}`;
    });
  }

  for (const [title, fromIso, count] of [
    ['100 quarters for the day on which the clocks go back', '2026-10-24T22:00:00Z', 100],
    ['92 quarters for the day on which the clocks go forward', '2027-03-27T23:00:00Z', 92],
  ] as const)
    test(`a CSV file of local times gives ${title}, in either order`, async () => {
      const lines = quartersOfDay(fromIso, count);
      for (const some of [lines, lines.toReversed()]) {
        const { schedule, faults } = await read(['time;price', ...some].join('\n'), { now: fromIso });
        assert.equal(faults, null);
        assert.equal(schedule?.start, epochS(fromIso));
        assert.deepEqual(
          schedule.values,
          Array.from({ length: count }, (_, quarter) => quarter / 1_000),
        );
      }
    });

  test('a time that the clocks skip is named with its line, and the hour that a list has once on the long day stays unknown', async () => {
    const hours = (day: string): string =>
      ['time;price', ...[0, 1, 2, 3, 4].map((hour) => `${day} ${pad(hour)}:00;0,${hour + 1}`)].join('\n');
    const spring = await read(hours('2027-03-28'), { now: '2027-03-28T00:00:00Z' });
    assert.equal(spring.faults, 'line 4: the clocks skip 2027-03-28 02:00');
    assert.deepEqual(
      spring.schedule?.values,
      [0.1, 0.2, 0.4, 0.5].flatMap((price) => [price, price, price, price]),
    );
    const autumn = await read(hours('2026-10-25'));
    assert.equal(autumn.faults, null);
    assert.deepEqual(
      autumn.schedule?.values,
      [0.1, 0.2, 0.3, null, 0.4, 0.5].flatMap((price) => [price, price, price, price]),
    );
  });

  test('lines that cannot be read are named with their numbers, and their time stays unknown', async () => {
    const file = [
      'time;price',
      '01.11.2026 00:00;0,1',
      '',
      '31.11.2026 01:00;0,2',
      '01.11.2026 02:00;cheap',
      '01.11.2026 03:00;0;4',
      '"01.11.2026 04:00;0,5',
      '01.11.2026 25:00;0,6',
      'next year;0,7',
      '01.11.2026 05:00;1.2',
      '01.11.2026 06:00;0,8',
    ].join('\r\n');
    const { schedule, faults } = await read(file);
    assert.equal(
      faults,
      'line 4: "31.11.2026 01:00" is no time; line 5: "cheap" is no number; line 6: 3 cells, and the header has 2; ' +
        'line 7: a quote does not end with its cell; line 8: "01.11.2026 25:00" is no time; and 2 more',
    );
    const unknown = Array.from({ length: 20 }, () => null);
    assert.deepEqual(schedule?.values, [0.1, 0.1, 0.1, 0.1, ...unknown, 0.8, 0.8, 0.8, 0.8]);
  });

  test('a price that is empty or a dash is unknown and no fault', async () => {
    const { schedule, faults } = await read(
      'time;price\n01.11.2026 00:00;0,1\n01.11.2026 00:15;-\n01.11.2026 00:30;\n01.11.2026 00:45;-1.234,5\n',
    );
    assert.equal(faults, null);
    assert.deepEqual(schedule?.values, [0.1, null, null, -1234.5]);
  });

  for (const [title, file, more] of [
    ['zones of their own', 'time;price\n2026-11-01T01:00:00+02:00;0,1\n2026-10-31T23:15Z;0,2'],
    ['seconds of Unix', 'time;price\n1793487600;0,1\n1793488500;0,2'],
    [
      'a byte order mark and quotes',
      '\uFEFF"time" ; "price"\n"1.11.2026 0:00" ; "0,1"\n1.11.2026 0:15;"0,2"',
    ],
    [
      'tabs and a decimal point',
      'time\tprice\n2026-11-01\t0.1\n2026-11-01 00:15\t0.2',
      { separator: 'tab', decimal: '.' },
    ],
    ['cents', 'time;price\n2026-11-01;10\n2026-11-01 00:15;20', { factor: 0.01 }],
    [
      'other columns',
      'no;x;name, "of"\n1;01.11.2026;0,1\n2;01.11.2026 00:15;0,2',
      { time_column: 'x', price_column: 'name, "of"' },
    ],
  ] as const satisfies [string, string, Record<string, unknown>?][])
    test(`a CSV file of prices with ${title} is read`, async () => {
      const { schedule, faults } = await read(file, { settings: more ?? {} });
      assert.equal(faults, null);
      assert.deepEqual(schedule, { start: epochS('2026-10-31T23:00:00Z'), step_s: 900, values: [0.1, 0.2] });
    });

  test('a column that the file does not have is named, and there is no schedule', async () => {
    assert.deepEqual(await read('Datum;Preis\n01.11.2026;0,1'), {
      schedule: null,
      faults: 'there is no column "time", the header has: Datum, Preis',
    });
  });

  test('a file beyond its limits is refused with the limit', async () => {
    const { run, printed } = testScript({
      clock: system,
      modules: { csv: { file: 'csv.lua', source: Buffer.from(books.runtime['csv.lua'] ?? '') } },
    });
    const failure = await run(`
      local csv, rule = require('csv'), { separator = ';', decimal = '.', header = 1 }
      print(#assert(csv.rows('t;p\\n' .. ('1;1\\n'):rep(39998), rule)))
      print(select(2, csv.rows('t;p\\n' .. ('1;1\\n'):rep(40000), rule)))
      print(select(2, csv.rows(('x'):rep(2097153), rule)))`);
    assert.equal(failure, undefined);
    assert.deepEqual(printed, [
      '39998',
      'the CSV file has more than 40000 lines',
      'the CSV file has more than 2 MiB',
    ]);
  });

  test('a file of a whole year gives the five days from yesterday on', async () => {
    const lines = Array.from({ length: 365 * 96 }, (_, quarter) => {
      const time = new Date(Date.parse('2026-01-01T00:00:00Z') + quarter * 900_000)
        .toISOString()
        .slice(0, 16);
      return `${time}Z;${quarter}`;
    });
    const { schedule } = await read(['time;price', ...lines].join('\n'));
    assert.equal(schedule?.start, epochS('2026-10-24T00:00:00Z'));
    assert.equal(schedule.values.length, 480);
    assert.equal(schedule.values[0], (epochS('2026-10-24T00:00:00Z') - epochS('2026-01-01T00:00:00Z')) / 900);
  });
});
