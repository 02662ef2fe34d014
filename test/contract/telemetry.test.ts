/**
 * Latest values and time series over HTTP on the whole gateway (docs/interface/http.md#latest-values and
 * docs/interface/http.md#time-series). Denials first.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { MockDevice } from '../support/mock-device.ts';
import { refusal, useTestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';

type Json = Record<string, unknown>;

const CSV = { Accept: 'text/csv' };
const QUERY = '/v3/telemetry/query_timeseries';

/** A whole minute some minutes ago, so that every sample below has passed. */
const START_S = Math.floor(Date.now() / 60_000) * 60 - 600;

let battery: MockDevice;

const gateway = useTestGateway({}, async (started) => {
  battery = await started.provision('Battery');
  await started.provision('Silent');
  await battery.connect();
  // Two buckets of 60 s, a gap, and a third one.
  const samples = [
    [0, { battery_soc: 10, grid_connected: true, status: 'idle', alerts: ['battery_low', 'grid_lost'] }],
    [30, { battery_soc: 20, grid_connected: false, status: 'charging' }],
    [60, { battery_soc: 30, battery_power: 1_500 }],
    [240, { battery_soc: 90, status: 'idle', alerts: [] }],
  ] as const;
  await Promise.all(
    samples.map(([offsetS, values]) => battery.telemetry({ timestamp: START_S + offsetS, ...values })),
  );
});

const query = (fields: object): object => ({
  from: START_S,
  to: START_S + 300,
  granularity: '1m',
  telemetry: [{ device: 'battery', attribute: 'battery_soc' }],
  ...fields,
});

/** Rows without the head: seconds since the start, then the cells. */
async function rowsOf(fields: object): Promise<string[]> {
  const { status, body } = await gateway().call('USER', 'POST', QUERY, query(fields), CSV);
  assert.equal(status, 200, JSON.stringify(body));
  const [, ...rows] = String(body).trimEnd().split('\n');
  return rows.map((row) => row.replace(/^\d+/, (ts) => String(Number(ts) - START_S)));
}

describe('latest values are refused', () => {
  const many = (count: number): string =>
    Array.from({ length: count }, (_, index) => `devices[d${index}]=a`).join('&');
  const rows: [path: string, expected: string][] = [
    ['/v3/telemetry/latest', '400 invalid_query'],
    ['/v3/telemetry/latest?devices=battery', '400 invalid_query'],
    [`/v3/telemetry/latest?${many(101)}`, '400 invalid_query'],
    ['/v3/telemetry/latest?devices[battery]=status&relevance_interval=soon', '400 invalid_query'],
    ['/v3/telemetry/latest?devices[battery]=status&relevance_interval=-5s', '400 invalid_query'],
    ['/v3/telemetry/latest?devices[battery]=status&relevance_interval=2y', '400 invalid_query'],
    ['/v3/devices/battery/telemetry?relevance_interval=5', '400 invalid_query'],
    ['/v3/devices/nobody/telemetry', '404 device_not_found'],
  ];
  for (const [path, expected] of rows)
    test(`latest values are refused with ${expected}: ${path.slice(0, 80)}`, async () => {
      assert.equal(refusal(await gateway().call('USER', 'GET', path)), expected);
    });
});

describe('latest values', () => {
  const latest = async (text: string): Promise<Record<string, Json>> =>
    (await gateway().ok('USER', 'GET', `/v3/telemetry/latest?${text}`))['telemetry'] as Record<string, Json>;

  test('latest values are values with their time, or warnings, under the requested names', async () => {
    const found = await latest(
      `devices[battery]=battery_soc,battery_power,colour&devices[${battery.id}]=status&devices[nobody]=a,b` +
        '&devices[silent]=&relevance_interval=1h',
    );
    assert.deepEqual(found, {
      battery: {
        battery_soc: { value: 90, timestamp: START_S + 240 },
        battery_power: { value: 1_500, timestamp: START_S + 60 },
        colour: { warning: 'Attribute not found.' },
      },
      [battery.id]: { status: { value: 'idle', timestamp: START_S + 240 } },
      nobody: { a: { warning: 'Device is not found.' }, b: { warning: 'Device is not found.' } },
      silent: {},
    });
  });

  test('latest values are warnings after 30 s unless a longer time is asked for', async () => {
    const path = '/v3/devices/battery/telemetry?attribute.in=battery_soc';
    const { telemetry } = await gateway().ok('USER', 'GET', path);
    assert.deepEqual(telemetry, { battery_soc: { warning: 'No value within the relevance interval.' } });
    for (const interval of ['1h', '3600s', '1h0m0s', '0.5h', '1y', '60m']) {
      const found = await gateway().ok('USER', 'GET', `${path}&relevance_interval=${interval}`);
      assert.deepEqual(found['telemetry'], { battery_soc: { value: 90, timestamp: START_S + 240 } });
    }
  });

  test('latest values are shown under a requested alias, too', async () => {
    const asked = 'soc,battery_soc';
    const value = { value: 90, timestamp: START_S + 240 };
    const found = await latest(`devices[battery]=${asked}&relevance_interval=1h`);
    assert.deepEqual(found, { battery: { soc: value, battery_soc: value } });
  });

  test('latest values are all that one device declares and its alerts, when nothing is named', async () => {
    const { telemetry } = await gateway().ok('USER', 'GET', '/v3/devices/silent/telemetry');
    const { manifest } = await gateway().ok('USER', 'GET', '/v3/devices/silent/manifest');
    const declared = Object.entries((manifest as { telemetry: Record<string, Json> }).telemetry);
    // What is above the role is left out.
    const shown = declared.filter(([, { access_level: level }]) => level === 'readonly');
    const names = new Set([...shown.map(([name]) => name), 'alerts']);
    assert.deepEqual(Object.keys(telemetry as Json).toSorted(), [...names].toSorted());
    for (const value of Object.values(telemetry as Json))
      assert.deepEqual(Object.keys(value as Json), ['warning']);
  });

  test('latest values are the latest by time of measurement, not by arrival', async () => {
    const device = await gateway().provision('Late');
    await device.connect();
    const nowS = Math.floor(Date.now() / 1_000);
    await device.telemetry({ timestamp: nowS - 1, battery_soc: 2 });
    await device.telemetry({ timestamp: nowS - 20, battery_soc: 1 });
    const path = `/v3/devices/${device.slug}/telemetry?attribute.in=battery_soc`;
    const { telemetry } = await gateway().ok('USER', 'GET', path);
    assert.deepEqual(telemetry, { battery_soc: { value: 2, timestamp: nowS - 1 } });
  });
});

test('a device without a blueprint may send anything, without warnings in its log', async () => {
  const blank = await gateway().provision('Blank', null);
  await blank.connect();
  await blank.telemetry({ anything: 1, at: 'all' });
  await blank.send('v3/logs', { message: 'sent' });
  const logs = async (): Promise<Json[]> =>
    (await gateway().ok('USER', 'GET', '/v3/devices/blank/logs'))['logs'] as Json[];
  await until(async () => (await logs()).some(({ message }) => message === 'sent'));
  assert.deepEqual(
    (await logs()).map(({ message }) => message),
    ['sent'],
  );
});

describe('a time series is refused', () => {
  const rows: [title: string, fields: object, expected: string][] = [
    ['no from', { from: undefined }, '400 invalid_body'],
    ['a from that is no time', { from: 'yesterday' }, '400 invalid_body'],
    ['an end before the start', { to: START_S - 1 }, '400 invalid_body'],
    ['an end at the start', { to: START_S }, '400 invalid_body'],
    ['no telemetry', { telemetry: undefined }, '400 invalid_body'],
    ['an empty list', { telemetry: [] }, '400 invalid_body'],
    ['a bad granularity', { granularity: '-1m' }, '400 invalid_body'],
    ['an unknown aggregation', { aggregation: 'median' }, '400 invalid_body'],
    ['an unknown gap filling', { gap_filling: { method: 'guess' } }, '400 invalid_body'],
    [
      'an unknown key of a matcher',
      { telemetry: [{ device: { colour: 'red' }, attribute: 'battery_soc' }] },
      '400 invalid_body',
    ],
    [
      'an average of a text',
      { telemetry: [{ device: 'battery', attribute: 'status', aggregation: 'avg' }] },
      '422 aggregation_not_supported',
    ],
    [
      'one entry for each attribute',
      { telemetry: [{ device: 'battery', attribute: ['status', 'grid_connected'], aggregation: 'min' }] },
      '422 aggregation_not_supported aggregation_not_supported',
    ],
    [
      'one entry for an attribute that is asked for twice',
      {
        telemetry: [
          { device: 'battery', attribute: 'status', aggregation: 'min' },
          { attribute: 'status', aggregation: 'min' },
        ],
      },
      '422 aggregation_not_supported',
    ],
    [
      'one bucket more than 200 000',
      { from: START_S - 100_000 * 60, to: START_S + 100_000 * 60 + 1, granularity: '1m' },
      '422 query_too_large',
    ],
    [
      'an unknown attribute',
      { telemetry: [{ device: 'battery', attribute: 'colour' }] },
      '404 telemetrypersistence/NO_TELEMETRY_ATTRIBUTES_FOUND',
    ],
    ['an unknown key of the matcher of sites', { site: { colour: 'red' } }, '400 invalid_body'],
    ['another site', { site: 'elsewhere' }, '404 telemetrypersistence/NO_TELEMETRY_ATTRIBUTES_FOUND'],
  ];
  for (const [title, fields, expected] of rows)
    test(`a time series is refused with ${expected}: ${title}`, async () => {
      assert.equal(refusal(await gateway().call('USER', 'POST', QUERY, query(fields), CSV)), expected);
    });

  test('a time series is not refused with exactly 200 000 buckets', async () => {
    const widest = { from: START_S - 100_000 * 60, to: START_S + 100_000 * 60, granularity: '1m' };
    assert.equal((await gateway().call('USER', 'POST', QUERY, query(widest), CSV)).status, 200);
  });

  for (const accept of [
    '',
    'application/json',
    'text/csv;q=0',
    'text/html, application/*',
    '*/*, text/csv;q=0.0',
    'text/*;q=0, */*;q=0.1',
  ])
    test(`a time series is refused with 406 not_acceptable: Accept "${accept}"`, async () => {
      const answer = await gateway().call('USER', 'POST', QUERY, query({}), { Accept: accept });
      assert.equal(refusal(answer), '406 not_acceptable');
    });
});

describe('a time series is given', () => {
  for (const accept of [
    'text/csv',
    'TEXT/CSV; charset=utf-8',
    'text/*;q=0, text/csv;q=0.001',
    'a/b, */*;q=0.1',
  ])
    test(`a time series is given when the caller accepts "${accept}"`, async () => {
      assert.equal((await gateway().call('USER', 'POST', QUERY, query({}), { Accept: accept })).status, 200);
    });
});

describe('a time series', () => {
  // The store takes a moment to see what the journal has acknowledged.
  const ready = () => until(async () => (await rowsOf({})).length === 3);

  test('a time series has a head with everything asked for, and one header per type', async () => {
    await ready();
    const answer = await gateway().request('USER', 'POST', QUERY, query({ aggregation: 'AUTO' }), CSV);
    assert.equal(answer.headers.get('content-type'), 'text/csv');
    assert.equal(answer.headers.get('x-service-timeseries-data-types'), 'float');
    assert.equal(answer.headers.get('x-enapter-timeseries-data-types'), 'float');
    const [head = ''] = (await answer.text()).split('\n');
    assert.equal(
      head,
      `ts,telemetry=battery_soc device=${battery.id} aggregation=auto granularity=1m0s ` +
        'gap_filling_method=none gap_filling_look_around=0s',
    );
  });

  test('a time series has the type of each column, in one header and in one for each', async () => {
    const several = query({ telemetry: [{ device: 'battery', attribute: ['alerts', 'battery_soc'] }] });
    const { headers } = await gateway().request('USER', 'POST', QUERY, several, CSV);
    assert.equal(headers.get('x-service-timeseries-data-types'), 'string_array,float');
    assert.equal(headers.get('x-enapter-timeseries-data-types'), 'string_array, float');
  });

  for (const [granularity, told] of [
    ['4.1m', '4m6s'],
    ['0.7h', '42m0s'],
    ['1.9s', '1s'],
  ] as const)
    test(`a time series has buckets of ${told} for ${granularity}`, async () => {
      const answer = await gateway().request('USER', 'POST', QUERY, query({ granularity }), CSV);
      assert.match(await answer.text(), new RegExp(` granularity=${told} `));
    });

  test('a time series bears the alias that was asked for in its head', async () => {
    await ready();
    const aliased = query({ telemetry: [{ device: 'battery', attribute: ['soc', 'battery_soc'] }] });
    const answer = await gateway().request('USER', 'POST', QUERY, aliased, CSV);
    const [head = '', first] = (await answer.text()).split('\n');
    const names = head.split(',').map((column) => /^telemetry=(\S+)/.exec(column)?.[1] ?? column);
    assert.deepEqual([names, first], [['ts', 'battery_soc', 'soc'], `${START_S},15,15`]);
  });

  const telemetry = (attribute: string | string[] | object, more: object = {}) => ({
    telemetry: [{ device: 'battery', attribute, ...more }],
  });
  const iso = (seconds: number): string => new Date(seconds * 1_000).toISOString();
  const rows: [title: string, fields: object, expected: string[]][] = [
    ['averages numbers', {}, ['0,15', '60,30', '240,90']],
    ['takes the last', { aggregation: 'last' }, ['0,20', '60,30', '240,90']],
    ['takes the least', { aggregation: 'min' }, ['0,10', '60,30', '240,90']],
    ['takes the largest', { aggregation: 'Max' }, ['0,20', '60,30', '240,90']],
    ['knows whether it was ever true', telemetry('grid_connected', { aggregation: 'bool_or' }), ['0,true']],
    ['takes the last of booleans by itself', telemetry('grid_connected'), ['0,false']],
    ['takes the last of texts by itself', telemetry('status'), ['0,charging', '240,idle']],
    ['writes lists as JSON', telemetry('alerts'), ['0,"[""battery_low"",""grid_lost""]"', '240,"[]"']],
    [
      'has a cell for each column',
      telemetry(['battery_soc', 'battery_power']),
      ['0,,15', '60,1500,30', '240,,90'],
    ],
    [
      'repeats a column that is asked for twice',
      { telemetry: [...telemetry('battery_soc').telemetry, ...telemetry('battery_soc').telemetry] },
      ['0,15,15', '60,30,30', '240,90,90'],
    ],
    ['knows an attribute by its alias', telemetry('soc'), ['0,15', '60,30', '240,90']],
    ['chooses attributes by an alias', telemetry({ name: 'soc' }), ['0,15', '60,30', '240,90']],
    ['leaves out what is not there', telemetry(['battery_soc', 'colour']), ['0,15', '60,30', '240,90']],
    [
      'leaves out a device that is not there',
      { telemetry: [{ device: ['nobody', 'battery'], attribute: 'battery_soc' }] },
      ['0,15', '60,30', '240,90'],
    ],
    [
      'chooses devices by a label',
      { telemetry: [{ device: { slug: 'battery' }, attribute: 'battery_soc' }] },
      ['0,15', '60,30', '240,90'],
    ],
    [
      'takes the range from inclusive to exclusive',
      { from: START_S + 30, to: START_S + 240 },
      ['0,20', '60,30'],
    ],
    ['takes times as RFC 3339', { from: iso(START_S), to: iso(START_S + 61) }, ['0,15', '60,30']],
    [
      'takes times without a zone as UTC',
      {
        from: iso(START_S).slice(0, -1),
        to: iso(START_S + 61)
          .replace('T', ' ')
          .slice(0, -1),
      },
      ['0,15', '60,30'],
    ],
    ['takes times as text of seconds', { from: String(START_S), to: `${START_S + 60}.5` }, ['0,15', '60,30']],
    ['takes an hour as 60m0s', { granularity: '60m0s', to: START_S + 3_600 }, []],
    ['raises less than a second to one', { granularity: '100ms', to: START_S + 40 }, ['0,10', '30,20']],
    ['fills nothing by null', { gap_filling: null }, ['0,15', '60,30', '240,90']],
    [
      'fills from before',
      { gap_filling: { method: 'locf' } },
      ['0,15', '60,30', '120,30', '180,30', '240,90'],
    ],
    [
      'fills between',
      { gap_filling: { method: 'interpolation' } },
      ['0,15', '60,30', '120,50', '180,70', '240,90'],
    ],
    [
      'looks back for the first bucket as far as it may',
      { from: START_S + 120, gap_filling: { method: 'locf', look_around: '2m' } },
      ['120,30', '180,30', '240,90'],
    ],
    ['has no row without a value', { from: START_S + 120, to: START_S + 180 }, []],
  ];
  for (const [title, fields, expected] of rows)
    test(title, async () => {
      await ready();
      const found = await rowsOf(fields);
      if (title.startsWith('takes an hour')) assert.equal(found.length > 0, true);
      else assert.deepEqual(found, expected);
    });
});
