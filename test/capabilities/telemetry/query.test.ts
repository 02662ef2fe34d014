import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { GatewayError } from '../../../src/lib/errors.ts';
import type { Limits } from '../../../src/lib/limits.ts';
import { attribute, manifestOf, startTelemetry, type TestTelemetry } from './support.ts';
import type { Device } from '../../../src/capabilities/devices/index.ts';

const NOW_S = Date.UTC(2026, 2, 1, 8) / 1_000;
const SITE = '22222222-0000-4000-8000-000000000000';

const METER = manifestOf(
  {
    voltage: attribute('float', { unit: 'volt', implements: ['energy.meter.voltage'] }),
    count: attribute('integer'),
    on: attribute('boolean'),
    mode: attribute('string'),
    tags: attribute('array_of_strings'),
    detail: attribute('json'),
    secret: attribute('float', { access_level: 'installer', aliases: ['hidden'] }),
  },
  { implements: ['energy.meter'] },
);

async function started(
  t: TestContext,
  limits: Partial<Limits['telemetry']> = {},
): Promise<TestTelemetry & { meter: Device; other: Device }> {
  const telemetry = await startTelemetry(t, { limits });
  const meter = telemetry.devices.add('meter', METER);
  const other = telemetry.devices.add('other', METER, { type: 'LUA', name: 'Other one' });
  return { ...telemetry, meter, other };
}

async function refusal(telemetry: TestTelemetry, query: object): Promise<GatewayError> {
  try {
    await telemetry.query(query);
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error));
    return error;
  }
  return assert.fail('was not refused');
}

const range = { from: NOW_S - 600, to: NOW_S + 600 };

describe('a time series query is refused', () => {
  test('a time series query is refused when nothing of it exists, with the code that a client compares', async (t) => {
    const telemetry = await started(t);
    for (const item of [
      { device: 'nobody', attribute: 'voltage' },
      { device: 'meter', attribute: 'does_not_exist' },
      { device: [], attribute: 'voltage' },
      { device: 'meter', attribute: { type: 'float', name: 'mode' } },
    ]) {
      const error = await refusal(telemetry, { ...range, telemetry: [item] });
      assert.equal(error.kind, 'not_found');
      assert.deepEqual(
        error.problems.map((problem) => problem.code),
        ['telemetrypersistence/NO_TELEMETRY_ATTRIBUTES_FOUND'],
      );
    }
  });

  test('a time series query is refused for another site', async (t) => {
    const telemetry = await started(t);
    const query = { ...range, telemetry: [{ attribute: 'voltage' }] };
    assert.equal((await refusal(telemetry, { ...query, site: 'elsewhere' })).kind, 'not_found');
    assert.equal((await refusal(telemetry, { ...query, site: { name: ['X'] } })).kind, 'not_found');
    assert.match(await telemetry.query({ ...query, site: SITE }), /^ts,/);
    assert.match(await telemetry.query({ ...query, site: { name: 'Depot', id: [SITE] } }), /^ts,/);
  });

  test('a time series query is refused when it ends before it begins', async (t) => {
    const telemetry = await started(t);
    const error = await refusal(telemetry, { from: 100, to: 100, telemetry: [{ attribute: 'voltage' }] });
    assert.equal(error.code, 'invalid_body');
    assert.equal(error.problems[0].details?.['field'], 'to');
  });

  test('a time series query is refused for aggregations without meaning, one problem for each attribute, naming what is possible', async (t) => {
    const telemetry = await started(t);
    const error = await refusal(telemetry, {
      ...range,
      aggregation: 'avg',
      telemetry: [
        { device: 'meter', attribute: ['voltage', 'mode', 'on'] },
        { device: 'meter', attribute: 'tags', aggregation: 'max' },
        { device: 'meter', attribute: 'voltage', aggregation: 'bool_or' },
      ],
    });
    assert.equal(error.kind, 'unprocessable');
    assert.deepEqual(
      error.problems.map(({ code, details }) => [code, details?.['attribute']]),
      ['mode', 'on', 'tags', 'voltage'].map((name) => ['aggregation_not_supported', name]),
    );
    assert.match(error.message, /auto, last/);
  });

  test('a time series query is refused when it costs too much', async (t) => {
    const telemetry = await started(t);
    const item = { attribute: 'voltage' };
    for (const query of [
      { from: NOW_S - 200_001, to: NOW_S, granularity: '1s', telemetry: [item] },
      {
        from: NOW_S - 150_000,
        to: NOW_S,
        granularity: '1s',
        telemetry: Array.from({ length: 7 }, () => item),
      },
    ])
      assert.equal((await refusal(telemetry, query)).code, 'query_too_large');
  });

  test('a time series query is refused when it has too many columns, or only finding them takes too long', async (t) => {
    const telemetry = await started(t, { queryColumns: 4, queryComparisons: 100 });
    const of = (...items: object[]): object => ({ ...range, telemetry: items });
    const voltage = { attribute: 'voltage' };
    await telemetry.query(of(voltage, voltage));
    const columns = await refusal(telemetry, of(voltage, voltage, voltage));
    assert.deepEqual([columns.code, /more than 4 columns/.test(columns.message)], ['query_too_large', true]);
    const many = <Item>(item: Item): Item[] => Array.from({ length: 101 }, () => item);
    for (const item of [
      { device: 'meter', attribute: many('nothing') },
      { device: 'meter', attribute: many({ name: 'nothing' }) },
      { device: many({ slug: 'nobody' }), attribute: 'voltage' },
    ]) {
      const error = await refusal(telemetry, of(item));
      assert.deepEqual([error.code, /name fewer/.test(error.message)], ['query_too_large', true]);
    }
  });
});

describe('the answer of a time series query', () => {
  test('the answer of a time series query has one column for each item, device and attribute, with everything asked for in its head', async (t) => {
    const telemetry = await started(t);
    const csv = await telemetry.query({
      ...range,
      granularity: '1.5m',
      gap_filling: { method: 'LOCF', look_around: '1h' },
      telemetry: [
        { device: ['other', 'meter'], attribute: ['voltage', 'count'] },
        { device: 'meter', attribute: 'on', aggregation: 'Bool_Or', gap_filling: { method: 'none' } },
        { device: 'meter', attribute: 'on' },
      ],
    });
    const column = (name: string, device: Device, aggregation: string, gap: string): string =>
      `telemetry=${name} device=${device.id} aggregation=${aggregation} granularity=1m30s ${gap}`;
    const locf = 'gap_filling_method=locf gap_filling_look_around=1h0m0s';
    assert.equal(
      csv,
      [
        'ts',
        column('count', telemetry.meter, 'auto', locf),
        column('voltage', telemetry.meter, 'auto', locf),
        column('count', telemetry.other, 'auto', locf),
        column('voltage', telemetry.other, 'auto', locf),
        column('on', telemetry.meter, 'bool_or', 'gap_filling_method=none gap_filling_look_around=0s'),
        column('on', telemetry.meter, 'auto', locf),
      ].join(',') + '\n',
    );
  });

  test('the answer of a time series query has the types of its columns', async (t) => {
    const { telemetry, meter } = await started(t);
    const typesOf = (name: string, aggregation: string, method = 'none'): readonly string[] =>
      telemetry.queryTimeSeries(
        {
          ...range,
          granularity: 60_000,
          telemetry: [
            {
              device: [meter.id],
              attribute: [name],
              aggregation: aggregation as 'avg',
              gap_filling: { method: method as 'none' },
            },
          ],
        },
        'SYSTEM',
        new AbortController().signal,
      ).types;
    assert.deepEqual(typesOf('voltage', 'auto'), ['float']);
    assert.deepEqual(typesOf('count', 'auto'), ['float']);
    assert.deepEqual(typesOf('count', 'max'), ['integer']);
    assert.deepEqual(typesOf('count', 'last', 'interpolation'), ['float']);
    assert.deepEqual(typesOf('on', 'auto'), ['boolean']);
    assert.deepEqual(typesOf('mode', 'last'), ['string']);
    assert.deepEqual(typesOf('detail', 'auto'), ['string']);
    assert.deepEqual(typesOf('tags', 'auto'), ['string_array']);
    assert.deepEqual(typesOf('alerts', 'auto'), ['string_array']);
  });

  test('a time series leaves out what the role may not see', async (t) => {
    const { telemetry } = await started(t);
    const ask = (role: 'READONLY' | 'INSTALLER') =>
      telemetry.queryTimeSeries(
        {
          ...range,
          granularity: 60_000,
          telemetry: [
            { device: ['meter'], attribute: ['voltage', 'secret', 'hidden', { name: ['hidden'] }] },
          ],
        },
        role,
        new AbortController().signal,
      ).types.length;
    assert.equal(ask('READONLY'), 1);
    assert.equal(ask('INSTALLER'), 3);
  });

  test('a time series has buckets from the start of 1970 and only samples within the range', async (t) => {
    const telemetry = await started(t);
    const at = Math.floor(NOW_S / 60) * 60 - 300;
    for (const [offset, voltage] of [
      [-1, 1],
      [29, 2],
      [30, 3],
      [59, 5],
      [60, 7],
      [119, 8],
      [120, 9],
    ] as const)
      await telemetry.send(telemetry.meter, { timestamp: at + offset, voltage });
    const csv = await telemetry.query({
      from: at + 30,
      to: new Date((at + 120) * 1_000).toISOString(),
      telemetry: [{ device: 'meter', attribute: 'voltage', aggregation: 'avg' }],
    });
    assert.deepEqual(csv.split('\n').slice(1), [`${at},4`, `${at + 60},7.5`, '']);
  });

  test('a time series has texts that a client can read line by line', async (t) => {
    const telemetry = await started(t);
    await telemetry.send(telemetry.meter, {
      timestamp: NOW_S,
      mode: 'two\nlines, "quoted"\r\n\v\f\x1c\x1d\x1e\x85\u2028\u2029.',
      tags: [],
      detail: { a: [1, 'x'] },
      on: true,
      voltage: 1e-7,
    });
    const csv = await telemetry.query({
      ...range,
      aggregation: 'last',
      granularity: '1s',
      telemetry: ['mode', 'tags', 'detail', 'on', 'voltage', 'count'].map((name) => ({
        device: 'meter',
        attribute: name,
      })),
    });
    assert.equal(
      csv.split('\n')[1],
      `${NOW_S},"two lines, ""quoted""         .","[]","{""a"":[1,""x""]}",true,1e-7,`,
    );
  });

  test('a time series has JSON on one line without a change of its content', async (t) => {
    const telemetry = await started(t);
    const text = 'a\u2028b\u2029c\x85d\v\n';
    const values = { detail: { [text]: text }, tags: [text] };
    await telemetry.send(telemetry.meter, { timestamp: NOW_S, ...values });
    const csv = await telemetry.query({
      ...range,
      aggregation: 'last',
      granularity: '1s',
      telemetry: ['detail', 'tags'].map((name) => ({ device: 'meter', attribute: name })),
    });
    const cells = /^\d+,"(.*)","(.*)"$/.exec(csv.split(/[\n\v\x85\u2028\u2029]/)[1] ?? '') ?? [];
    const [detail, tags] = cells.slice(1).map((cell) => JSON.parse(cell.replaceAll('""', '"')) as unknown);
    assert.deepEqual({ detail, tags }, values);
  });

  test('a time series is selected by labels of devices and attributes', async (t) => {
    const telemetry = await started(t);
    const columnsOf = async (item: object): Promise<number> =>
      (await telemetry.query({ ...range, telemetry: [item] })).split('\n')[0]?.split(',').length ?? 0;
    const cases: [object, number][] = [
      [{ attribute: 'voltage' }, 2],
      [{ device: {}, attribute: 'voltage' }, 2],
      [{ device: { type: 'LUA' }, attribute: 'voltage' }, 1],
      [{ device: { name: ['Other one', 'x'], slug: 'other' }, attribute: 'voltage' }, 1],
      [{ device: [{ slug: 'other' }, 'meter'], attribute: 'voltage' }, 2],
      [{ device: { profile: 'energy.meter' }, attribute: { unit: 'volt' } }, 2],
      [{ device: 'meter', attribute: { type: ['float', 'integer'] } }, 3],
      [{ device: 'meter', attribute: { profile: 'energy.meter.voltage' } }, 1],
      [{ device: 'meter', attribute: [{ name: 'on' }, 'mode', 'mode'] }, 2],
      [{ device: 'meter', attribute: {} }, 7],
    ];
    for (const [item, columns] of cases)
      assert.equal(await columnsOf(item), columns + 1, JSON.stringify(item));
  });

  test('a time series ends when the caller leaves', async (t) => {
    const { telemetry, send, meter } = await started(t);
    await send(meter, { timestamp: NOW_S - 5, voltage: 1 });
    const leaving = new AbortController();
    const { csv } = telemetry.queryTimeSeries(
      {
        from: NOW_S - 150_000,
        to: NOW_S,
        granularity: 1_000,
        gap_filling: { method: 'locf', look_around: 1e9 },
        telemetry: [{ device: ['meter'], attribute: ['voltage'] }],
      },
      'SYSTEM',
      leaving.signal,
    );
    await csv.next();
    leaving.abort(new Error('left'));
    await assert.rejects(async () => {
      for await (const piece of csv) assert.ok(piece);
    }, /left/);
  });
});

describe('gaps', () => {
  const column = (csv: string): string[] =>
    csv
      .trimEnd()
      .split('\n')
      .slice(1)
      .map((row) => row.replace(/^\d+/, (at) => String(Number(at) - NOW_S)));

  test('gaps are filled from before, also from before the range, and never from after', async (t) => {
    const telemetry = await started(t);
    await telemetry.send(telemetry.meter, { timestamp: NOW_S - 15, voltage: 1 });
    await telemetry.send(telemetry.meter, { timestamp: NOW_S + 20, voltage: 2 });
    const ask = (lookAround: string): Promise<string> =>
      telemetry.query({
        from: NOW_S,
        to: NOW_S + 40,
        granularity: '10s',
        gap_filling: { method: 'locf', look_around: lookAround },
        telemetry: [{ device: 'meter', attribute: 'voltage' }],
      });
    assert.deepEqual(column(await ask('15s')), ['0,1', '10,1', '20,2', '30,2']);
    assert.deepEqual(column(await ask('14s')), ['20,2', '30,2']);
  });

  test('gaps are interpolated between neighbours, texts carried forward', async (t) => {
    const telemetry = await started(t);
    await telemetry.send(telemetry.meter, { timestamp: NOW_S - 10, count: 0, mode: 'a' });
    await telemetry.send(telemetry.meter, { timestamp: NOW_S + 10, count: 10, mode: 'b' });
    await telemetry.send(telemetry.meter, { timestamp: NOW_S + 40, count: 40 });
    const csv = await telemetry.query({
      from: NOW_S,
      to: NOW_S + 40,
      granularity: '10s',
      gap_filling: { method: 'interpolation', look_around: '10s' },
      telemetry: [{ device: 'meter', attribute: ['count', 'mode'] }],
    });
    assert.deepEqual(column(csv), ['0,5,a', '10,10,b', '20,20,b', '30,30,b']);
  });
});
