/** Buckets of whole days by the calendar of the site. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { localDayEdges } from '../../../src/capabilities/telemetry/resolve-query.ts';
import { TestClock } from '../../support/test-clock.ts';
import { attribute, manifestOf, startTelemetry } from './support.ts';

const at = (text: string): number => Date.parse(text) / 1_000;
const texts = (edges: readonly number[]): string[] =>
  edges.map((edge) => new Date(edge * 1_000).toISOString().replace(':00.000Z', 'Z'));

describe('local days', () => {
  const cases: [title: string, zone: string, from: string, to: string, days: number, edges: string[]][] = [
    [
      'of UTC',
      'UTC',
      '2026-03-01T08:00Z',
      '2026-03-02T00:00Z',
      1,
      ['2026-03-01T00:00Z', '2026-03-02T00:00Z'],
    ],
    [
      'have 23 hours when summer time begins',
      'Europe/Berlin',
      '2026-03-28T23:00Z',
      '2026-03-30T00:00Z',
      1,
      ['2026-03-28T23:00Z', '2026-03-29T22:00Z', '2026-03-30T22:00Z'],
    ],
    [
      'have 25 hours when it ends',
      'Europe/Berlin',
      '2026-10-25T00:00Z',
      '2026-10-25T01:00Z',
      1,
      ['2026-10-24T22:00Z', '2026-10-25T23:00Z'],
    ],
    [
      'begin at one where midnight is skipped',
      'America/Santiago',
      '2025-09-07T12:00Z',
      '2025-09-07T13:00Z',
      1,
      ['2025-09-07T04:00Z', '2025-09-08T03:00Z'],
    ],
    [
      'of a zone with quarters of hours',
      'Asia/Kathmandu',
      '2026-03-01T00:00Z',
      '2026-03-01T01:00Z',
      1,
      ['2026-02-28T18:15Z', '2026-03-01T18:15Z'],
    ],
    [
      'leave out one that the zone skipped',
      'Pacific/Apia',
      '2011-12-29T12:00Z',
      '2011-12-31T12:00Z',
      1,
      ['2011-12-29T10:00Z', '2011-12-30T10:00Z', '2011-12-31T10:00Z', '2012-01-01T10:00Z'],
    ],
    [
      'by sevens are counted from 1970',
      'Europe/Berlin',
      '2026-03-01T00:00Z',
      '2026-03-02T00:00Z',
      7,
      ['2026-02-25T23:00Z', '2026-03-04T23:00Z'],
    ],
    [
      'by more than a calendar has are one',
      'Europe/Berlin',
      '2026-03-01T00:00Z',
      '2026-03-02T00:00Z',
      300_000 * 365,
      ['1969-12-31T23:00Z', '9999-12-31T00:00Z'],
    ],
  ];
  for (const [title, zone, from, to, days, edges] of cases)
    test(title, () => {
      const range = { fromS: at(from), toS: at(to), granularityS: days * 86_400 };
      assert.deepEqual(texts(localDayEdges(zone, range) ?? []), edges);
    });

  // Midnight skipped and told twice, Ramadan, half an hour, a day that was skipped, none at all.
  for (const zone of [
    'Europe/Berlin',
    'America/Santiago',
    'Africa/Casablanca',
    'Asia/Gaza',
    'Australia/Lord_Howe',
    'Pacific/Apia',
    'Asia/Kolkata',
  ])
    test(`local days follow the calendar of ${zone} for many years, one after the other`, () => {
      const calendar = new Intl.DateTimeFormat('en-CA', { timeZone: zone });
      const dates = (
        localDayEdges(zone, {
          fromS: at('2005-01-01T12:00Z'),
          toS: at('2050-01-01T12:00Z'),
          granularityS: 86_400,
        }) ?? []
      ).map((edge) => [calendar.format(edge * 1_000 - 1_000), calendar.format(edge * 1_000)]);
      dates.slice(1).forEach(([before, date], index) => {
        assert.equal(before, dates[index]?.[1], `the day before ${date} is whole`);
        assert.notEqual(before, date);
      });
      assert.ok(dates.length > 45 * 365);
    });
});

describe('a query by days', () => {
  const MANIFEST = manifestOf({ energy: attribute('integer') });
  // Summer time of the site, Europe/Berlin, ends on the 26th.
  const SAMPLES: [time: string, energy: number][] = [
    ['2025-10-24T21:59:59Z', 1],
    ['2025-10-24T22:00:00Z', 2],
    ['2025-10-25T21:59:59Z', 4],
    ['2025-10-25T22:30:00Z', 8],
    ['2025-10-26T22:59:59Z', 16],
    ['2025-10-26T23:00:00Z', 32],
    ['2025-10-28T12:00:00Z', 64],
  ];

  test('a query by days uses days of the site on request, else of UTC', async (t) => {
    const started = await startTelemetry(t, { clock: new TestClock(Date.parse('2025-10-29T00:00:00Z')) });
    const { devices, send, query } = started;
    const meter = devices.add('meter', MANIFEST);
    for (const [time, energy] of SAMPLES) await send(meter, { timestamp: at(time), energy });
    const rows = async (more: object): Promise<string[]> => {
      const csv = await query({
        from: '2025-10-24T00:00:00Z',
        to: '2025-10-29T00:00:00Z',
        granularity: '24h',
        telemetry: [{ device: 'meter', attribute: 'energy', aggregation: 'max' }],
        ...more,
      });
      return csv
        .trimEnd()
        .split('\n')
        .slice(1)
        .map((row) => row.replace(/^\d+/, (start) => texts([Number(start)])[0] ?? ''));
    };
    const site = [
      '2025-10-23T22:00Z,1',
      '2025-10-24T22:00Z,4',
      '2025-10-25T22:00Z,16',
      '2025-10-26T23:00Z,32',
      '2025-10-27T23:00Z,64',
    ];
    for (const plain of [{}, { timezone: null }, { timezone: 'UTC' }])
      assert.deepEqual(await rows(plain), [
        '2025-10-24T00:00Z,2',
        '2025-10-25T00:00Z,8',
        '2025-10-26T00:00Z,32',
        '2025-10-28T00:00Z,64',
      ]);
    assert.deepEqual(await rows({ timezone: 'site' }), site);
    assert.deepEqual(
      await rows({ timezone: 'site', to: '2025-10-30T23:00:00Z', gap_filling: { method: 'locf' } }),
      [...site, '2025-10-28T23:00Z,64', '2025-10-29T23:00Z,64'],
    );
    assert.equal((await rows({ timezone: 'site', granularity: '1h' })).length, 7, 'hours stay as they are');
  });
});
