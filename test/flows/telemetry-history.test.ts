/** The history of telemetry on a whole gateway: how long it lives, how it leaves, how it moves to another box. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { request } from 'node:http';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import BetterSqlite3 from 'better-sqlite3';
import { zipOf } from '../capabilities/blueprints/support.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';
import { until } from '../support/until.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const CSV = { Accept: 'text/csv' };
const QUERY = '/v3/telemetry/query_timeseries';
const DAY_S = 86_400;
const TODAY_S = Math.floor(Date.now() / 86_400_000) * DAY_S;
/** The least number, so that little data is sealed and rolled up at once. */
const OPEN_SAMPLES = 10_000;
const SEALS_EARLY = { GATEWAY_TELEMETRY_OPEN_SAMPLES: String(OPEN_SAMPLES) };

/** A device of a blueprint with these attributes. */
async function provision(
  gateway: TestGateway,
  name: string,
  attributes: Record<string, string>,
): ReturnType<TestGateway['provision']> {
  return gateway.provision(name, await blueprint(gateway, attributes));
}

async function blueprint(gateway: TestGateway, attributes: Record<string, string>): Promise<string> {
  const telemetry = Object.entries(attributes).map(([name, type]) => [name, { display_name: name, type }]);
  const manifest = {
    blueprint_spec: 'device/3.0',
    display_name: 'Meter',
    runtime: { type: 'embedded' },
    telemetry: Object.fromEntries(telemetry) as object,
  };
  const zip = await zipOf({ 'manifest.yml': JSON.stringify(manifest) });
  const { id } = await gateway.ok('OWNER', 'POST', '/v3/blueprints/upload', zip);
  return String(id);
}

/** One sample a second of attributes `a` and `b` of device `meter`. */
async function importSeconds(gateway: TestGateway, fromS: number, seconds: number): Promise<void> {
  const rows = Array.from({ length: seconds }, (_, second) => `${fromS + second},${second},${second % 7}`);
  const csv = `ts,telemetry=a device=meter,telemetry=b device=meter\n${rows.join('\n')}\n`;
  const answer = await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', csv, {
    'Content-Type': 'text/csv',
  });
  assert.deepEqual(answer['import'], { rows: seconds, values: 2 * seconds, rejected: 0 });
}

async function rowsOf(
  gateway: TestGateway,
  attribute: string,
  fromS: number,
  toS: number,
  more: object = {},
): Promise<string[]> {
  const query = {
    from: fromS,
    to: toS,
    granularity: '1s',
    aggregation: 'last',
    telemetry: [{ device: 'meter', attribute }],
    ...more,
  };
  const { status, body } = await gateway.call('READONLY', 'POST', QUERY, query, CSV);
  assert.equal(status, 200, JSON.stringify(body));
  return String(body).trimEnd().split('\n').slice(1);
}

async function metric(gateway: TestGateway, name: string): Promise<number> {
  const { body } = await gateway.call('READONLY', 'GET', '/metrics');
  return Number(
    String(body)
      .split('\n')
      .find((line) => line.startsWith(`gateway_${name} `))
      ?.split(' ')[1],
  );
}

describe('retention', () => {
  test('retention follows the options, per resolution and per attribute, and the gateway shows it', async (t) => {
    const gateway = await startTestGateway(t, {
      environment: {
        ...SEALS_EARLY,
        GATEWAY_TELEMETRY_SAMPLE_DAYS: '8',
        GATEWAY_TELEMETRY_SAMPLE_DAYS_OF: 'b=60',
        GATEWAY_TELEMETRY_MINUTE_DAYS: '20',
        GATEWAY_TELEMETRY_QUARTER_DAYS: '30',
        GATEWAY_HISTORY_MAX_MIB: '64',
      },
    });
    await provision(gateway, 'Meter', { a: 'float', b: 'integer' });
    const ages = [10, 25, 40];
    for (const ageDays of ages) await importSeconds(gateway, TODAY_S - ageDays * DAY_S, 1_800);
    // What is too old goes once an hour, and at the start.
    await gateway.restart();
    const counts = async (attribute: string): Promise<number[]> => {
      const found: number[] = [];
      for (const ageDays of ages) {
        const fromS = TODAY_S - ageDays * DAY_S;
        found.push((await rowsOf(gateway, attribute, fromS, fromS + 1_800)).length);
      }
      return found;
    };
    await until(async () => String(await counts('a')) === '30,2,0');
    assert.deepEqual(await counts('b'), [1_800, 1_800, 1_800]);

    const { devices } = await gateway.ok('READONLY', 'GET', '/v3/devices?expand=properties');
    const own = (devices as { id: string; type: string; properties: Record<string, unknown> }[]).find(
      ({ type }) => type === 'GATEWAY',
    );
    assert.equal(own?.properties['history_max_bytes'], 64 * 1_048_576);
    assert.equal(own?.properties['telemetry_sample_days'], 8);
    assert.equal(own?.properties['telemetry_minute_days'], 20);
    assert.equal(own?.properties['telemetry_quarter_days'], 30);
    const path = `/v3/devices/${own?.id}/telemetry?attribute.in=history_days_left,history_damaged_parts`;
    await until(async () => (await metric(gateway, 'telemetry_store_forecast_days')) > 0);
    await until(async () => {
      const { telemetry } = await gateway.ok('READONLY', 'GET', path);
      const { history_days_left: left, history_damaged_parts: damaged } = telemetry as Record<
        string,
        { value?: number }
      >;
      return (left?.value ?? 0) > 0 && damaged?.value === 0;
    });
  });
});

describe('a damaged block', () => {
  test('a damaged block loses its own samples only, and the gateway says so', async (t) => {
    const gateway = await startTestGateway(t, { environment: SEALS_EARLY });
    await provision(gateway, 'Meter', { a: 'float', b: 'integer' });
    const fromS = TODAY_S - 2 * DAY_S;
    await importSeconds(gateway, fromS, OPEN_SAMPLES / 2);
    const blocks = new BetterSqlite3(join(gateway.dataDir, 'history.db'));
    t.after(() => blocks.close());
    const day = fromS / DAY_S;
    const known = blocks.prepare<[number], { series_id: number }>(
      'SELECT series_id FROM telemetry_block WHERE resolution_s = 1 AND day = ? ORDER BY series_id',
    );
    await until(() => known.all(day).length === 2);
    blocks
      .prepare('UPDATE telemetry_block SET data = zeroblob(length(data)) WHERE series_id = ? AND day = ?')
      .run(known.all(day)[0]?.series_id, day);
    // The gateway's own samples count too: the last seconds may be in the next block.
    assert.deepEqual(await rowsOf(gateway, 'a', fromS, fromS + 4_000), []);
    assert.equal((await rowsOf(gateway, 'b', fromS, fromS + 4_000)).length, 4_000);
    assert.ok(gateway.lines.some(({ message }) => message.includes('is damaged and was skipped')));
    await until(async () => (await metric(gateway, 'telemetry_store_damaged')) > 0);
  });
});

describe('a change of type', () => {
  test('a change of type starts another series, and changing back finds the old one', async (t) => {
    const gateway = await startTestGateway(t);
    const numbers = await blueprint(gateway, { a: 'float' });
    const texts = await blueprint(gateway, { a: 'string' });
    const meter = await gateway.provision('Meter', numbers);
    const assign = (id: string) =>
      gateway.ok('OWNER', 'POST', `/v3/devices/meter/assign_blueprint`, { blueprint_id: id });
    const nowS = Math.floor(Date.now() / 1_000);
    const rows = (): Promise<string[]> => rowsOf(gateway, 'a', nowS - 10, nowS);
    await meter.connect();
    await meter.telemetry({ timestamp: nowS - 5, a: 1.5 });
    await until(async () => String(await rows()) === `${nowS - 5},1.5`);
    await assign(texts);
    assert.deepEqual(await rows(), []);
    await meter.telemetry({ timestamp: nowS - 4, a: 'auto' });
    await until(async () => String(await rows()) === `${nowS - 4},auto`);
    await assign(numbers);
    assert.deepEqual(await rows(), [`${nowS - 5},1.5`]);
  });
});

describe('an answer', () => {
  test('an answer has a header line for each column, however many', async (t) => {
    const gateway = await startTestGateway(t);
    const names = Array.from({ length: 900 }, (_, index) => `value_${index}`);
    await provision(gateway, 'Meter', Object.fromEntries(names.map((name) => [name, 'integer'])));
    const body = {
      from: TODAY_S,
      to: TODAY_S + 60,
      granularity: '1s',
      aggregation: 'last',
      telemetry: [{ device: 'meter', attribute: { type: 'integer' } }],
    };
    const { rawHeaders, head } = await wideAnswer(gateway, JSON.stringify(body));
    const valuesOf = (name: string): string[] =>
      rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === name);
    assert.equal(valuesOf('x-enapter-timeseries-data-types').length, names.length);
    assert.ok(Buffer.byteLength(rawHeaders.join(': ')) > 2 * 16_384);
    const [joined = ''] = valuesOf('x-service-timeseries-data-types');
    assert.equal(joined.split(',').length, names.length);
    assert.equal(head.split(',').length, 1 + names.length);
  });

  test('an answer is given up when the caller leaves', async (t) => {
    const gateway = await startTestGateway(t);
    await provision(gateway, 'Meter', { a: 'float', b: 'integer' });
    await importSeconds(gateway, TODAY_S - DAY_S, 10);
    const running = (): Promise<number> => metric(gateway, 'telemetry_queries{state="running"}');
    const body = {
      from: TODAY_S - DAY_S,
      to: TODAY_S + DAY_S,
      granularity: '1s',
      aggregation: 'last',
      gap_filling: { method: 'locf', look_around: '48h' },
      telemetry: Array.from({ length: 11 }, () => ({ device: 'meter', attribute: 'b' })),
    };
    const leaving = new AbortController();
    const response = await fetch(`${gateway.origin}${QUERY}`, {
      method: 'POST',
      headers: { ...CSV, 'X-Service-Auth-Token': gateway.token('READONLY') },
      body: JSON.stringify(body),
      signal: leaving.signal,
    });
    await response.body?.getReader().read();
    assert.equal(await running(), 1, 'it waits for its reader');
    leaving.abort();
    await until(async () => (await running()) === 0);
  });
});

/** Over a connection of its own: the usual client refuses heads above 16 KiB. */
function wideAnswer(gateway: TestGateway, body: string): Promise<{ rawHeaders: string[]; head: string }> {
  return new Promise((resolve, reject) => {
    const call = request(
      `${gateway.origin}${QUERY}`,
      {
        method: 'POST',
        headers: { ...CSV, 'X-Service-Auth-Token': gateway.token('READONLY'), Connection: 'close' },
        maxHeaderSize: 262_144,
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        answer.once('end', () => resolve({ rawHeaders: answer.rawHeaders, head: text.split('\n')[0] ?? '' }));
      },
    );
    call.once('error', reject);
    call.end(body);
  });
}

describe('moving telemetry to another box', () => {
  const run = promisify(execFile);
  const transfer = (gateway: TestGateway, action: string, ...rest: string[]) =>
    run(process.execPath, [
      join(PROJECT_ROOT, 'scripts/telemetry-transfer.ts'),
      action,
      `--gateway=${gateway.origin}`,
      `--token=${gateway.token('OWNER')}`,
      ...rest,
    ]);
  const filled = async (t: TestContext): Promise<TestGateway> => {
    const gateway = await startTestGateway(t);
    await provision(gateway, 'Meter', { a: 'float', b: 'integer' });
    return gateway;
  };

  test('telemetry moved to another box gives the same answers there, also when files are imported again', async (t) => {
    const [from, to] = [await filled(t), await filled(t)];
    const fromS = TODAY_S - 3 * DAY_S + 6 * 3_600 - 300;
    await importSeconds(from, fromS, 600);
    const folder = temporaryFolder(t);
    const range = ['--from', String(fromS - 60), '--to', String(fromS + 660)];
    const all = (gateway: TestGateway) => rowsOf(gateway, 'a', fromS - 60, fromS + 660);
    await until(async () => (await all(from)).length === 600);
    const { stdout } = await transfer(from, 'export', '--device', 'meter', ...range, '--folder', folder);
    const files = stdout.trim().split('\n');
    assert.ok(files.length >= 1, stdout);
    for (let round = 0; round < 2; round++) {
      const moved = await transfer(to, 'import', '--device', 'meter', ...files);
      assert.match(moved.stdout, /"rejected":0/);
      await until(async () => (await all(to)).length === 600);
      assert.deepEqual(await all(to), await all(from));
    }
  });
});
