/** The books of a simulated day equal the simulator's own, whatever happened on that day. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPlant, DEFAULT_SETTINGS, NO_ENERGY } from '../../scripts/simulate/plant.ts';
import { telemetryOf } from '../../scripts/simulate/inverter-messages.ts';
import { createRandom } from '../../scripts/support/random.ts';
import { Telemetry } from '../../src/capabilities/telemetry/index.ts';
import { until } from '../support/until.ts';
import { startTestGateway, type TestGateway } from '../support/test-gateway.ts';

const STEP_S = 10;
const DAY_S = 86_400;
/** A whole day of Berlin that is over. */
const NOON_S = Math.floor(Date.now() / 86_400_000) * DAY_S - 2 * DAY_S + 12 * 3_600;

const NAMES = [
  'pv_total_power',
  'battery_power',
  'battery_soc',
  'grid_total_power',
  'load_total_power',
  'pv_energy_lifetime',
  'battery_energy_in_lifetime',
  'battery_energy_out_lifetime',
  'grid_energy_in_lifetime',
  'grid_energy_out_lifetime',
] as const;

interface Bucket {
  from: string;
  to: string;
  sources_wh: Record<string, number>;
  uses_wh: Record<string, number>;
  flows_wh: Record<string, Record<string, number>>;
  gap_s: Record<string, number>;
  bridged_s: Record<string, number>;
  self_sufficiency: number;
}

interface Energy {
  total: Bucket;
  buckets: Bucket[];
}

/** A day of the plant as rows of an import, and its own books of it. */
function simulate(fromS: number, toS: number, mishaps: { resetAtS: number; silent: [number, number] }) {
  const plant = createPlant({
    random: createRandom(7),
    hourOfDay: 0,
    socPercent: 45,
    mishapsPerDay: 0,
    energy: { ...NO_ENERGY, pvWh: 1_234_567, gridInWh: 98_765, batteryInWh: 5_000, batteryOutWh: 4_000 },
    settings: DEFAULT_SETTINGS,
  });
  const books = { pv: 0, charge: 0, discharge: 0, import: 0, export: 0, load: 0 };
  const rows: string[] = [];
  // Powers are means of the step before: the one of its middle stands at its end.
  for (let atS = fromS; atS < toS; atS += STEP_S) {
    if (atS === mishaps.resetAtS) plant.resetEnergyCounters();
    const reading = plant.advance(STEP_S);
    const hours = STEP_S / 3_600;
    const { pvW, batteryW, gridW, loadW } = reading.flows;
    books.pv += pvW * hours;
    books.charge += Math.max(0, -batteryW) * hours;
    books.discharge += Math.max(0, batteryW) * hours;
    books.import += Math.max(0, gridW) * hours;
    books.export += Math.max(0, -gridW) * hours;
    books.load += loadW * hours;
    if (atS >= mishaps.silent[0] && atS < mishaps.silent[1]) continue;
    const values = telemetryOf(reading, plant, []);
    rows.push([atS + STEP_S / 2, ...NAMES.map((name) => values[name])].join(','));
  }
  return { rows, books };
}

async function importRows(gateway: TestGateway, rows: readonly string[]): Promise<void> {
  const head = ['ts', ...NAMES.map((name) => `telemetry=${name} device=battery`)].join(',');
  await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', `${head}\n${rows.join('\n')}\n`, {
    'Content-Type': 'text/csv',
  });
}

const energyOf = async (gateway: TestGateway, query: string): Promise<Energy> => {
  const { energy } = await gateway.ok('READONLY', 'GET', `/v3/site/energy?${query}`);
  return energy as Energy;
};

test('energy of a day with a restart, an outage and a counter reset is right within half a percent', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone: 'Europe/Berlin' });
  await gateway.provision('Battery');
  const day = (await energyOf(gateway, `from=${iso(NOON_S)}&to=${iso(NOON_S + 1)}`)).buckets[0];
  assert.ok(day);
  const [fromS, toS] = [Date.parse(day.from) / 1_000, Date.parse(day.to) / 1_000];
  const silent: [number, number] = [fromS + 14 * 3_600 + 7, fromS + 14.5 * 3_600 + 7];
  const { rows, books } = simulate(fromS, toS, { resetAtS: fromS + 10 * 3_600, silent });
  const half = Math.floor(rows.length / 2);
  await importRows(gateway, rows.slice(0, half));
  await gateway.restart();
  await importRows(gateway, rows.slice(half));

  const { total, buckets } = await energyOf(gateway, `from=${iso(fromS)}&to=${iso(toS)}&granularity=hour`);
  const near = (shown: number | undefined, wanted: number, name: string): void =>
    assert.ok(
      shown !== undefined && Math.abs(shown - wanted) <= wanted * 0.005,
      `${name}: ${shown} is not ${wanted}`,
    );
  near(total.sources_wh['pv'], books.pv, 'pv');
  near(total.sources_wh['battery'], books.discharge, 'discharge');
  near(total.uses_wh['battery'], books.charge, 'charge');
  near(total.sources_wh['grid'], books.import, 'import');
  near(total.uses_wh['grid'], books.export, 'export');
  near(total.uses_wh['load'], books.load, 'load');

  // Counters bridged the outage of all but the load, which has none.
  assert.equal(total.gap_s['pv'], STEP_S);
  assert.ok(Math.abs((total.bridged_s['grid'] ?? 0) - 1_860) <= 60, JSON.stringify(total.bridged_s));
  assert.ok(Math.abs((total.gap_s['load'] ?? 0) - 1_810) <= 20, JSON.stringify(total.gap_s));

  // Flows never contradict the bars, in no hour.
  assert.equal(buckets.length, Math.round((toS - fromS) / 3_600));
  for (const bucket of buckets)
    for (const [origin, uses] of Object.entries(bucket.flows_wh)) {
      const sum = Object.values(uses).reduce((all, amount) => all + amount, 0);
      assert.ok(Math.abs(sum - (bucket.sources_wh[origin] ?? 0)) < 0.1, `${bucket.from} ${origin}`);
    }
  const hours = buckets.reduce((all, bucket) => all + (bucket.sources_wh['pv'] ?? 0), 0);
  assert.ok(Math.abs(hours - (total.sources_wh['pv'] ?? 0)) < 0.1);
});

test('a grid meter that has only a counter of imports is counted', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone: 'UTC' });
  await gateway.provision('Battery');
  await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', {
    items: [{ role: 'grid', device_id: 'battery', energy_forward: 'grid_energy_in_lifetime' }],
  });
  const fromS = NOON_S - 12 * 3_600;
  const rows = [0, 900, 1_800, 2_700, 3_600].map((offset) => `${fromS + offset},${5_000 + offset}`);
  await gateway.ok(
    'OWNER',
    'POST',
    '/v3/telemetry/import',
    `ts,telemetry=grid_energy_in_lifetime device=battery\n${rows.join('\n')}\n`,
    { 'Content-Type': 'text/csv' },
  );
  const { total } = await energyOf(gateway, `from=${iso(fromS)}&to=${iso(fromS + 7_200)}&granularity=hour`);
  assert.deepEqual(
    [total.sources_wh['grid'], total.uses_wh['grid'], total.uses_wh['load']],
    [3_600, 0, 3_600],
  );
  assert.deepEqual([total.bridged_s['grid'], total.gap_s['grid']], [3_600, 3_600]);
});

/** A site whose sun is one value; what is imported of it is in watts. */
async function sunOnly(t: { after: (end: () => Promise<void>) => void }) {
  const gateway = await startTestGateway(t);
  await gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone: 'UTC' });
  await gateway.provision('Battery');
  await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', {
    items: [{ role: 'pv', device_id: 'battery', power: 'pv_total_power' }],
  });
  const shine = (fromS: number, toS: number, powerW: number) => {
    const rows = Array.from(
      { length: (toS - fromS) / 60 + 1 },
      (_, index) => `${fromS + index * 60},${powerW}`,
    );
    const body = `ts,telemetry=pv_total_power device=battery\n${rows.join('\n')}\n`;
    return gateway.ok('OWNER', 'POST', '/v3/telemetry/import', body, { 'Content-Type': 'text/csv' });
  };
  return { gateway, shine };
}

test('imported samples count in days that were requested before', async (t) => {
  const { gateway, shine } = await sunOnly(t);
  const fromS = NOON_S - 40 * DAY_S - 12 * 3_600;
  const day = `from=${iso(fromS)}&to=${iso(fromS + DAY_S)}`;
  await shine(fromS, fromS + 3_600, 1_000);
  assert.equal((await energyOf(gateway, `${day}&granularity=day`)).total.sources_wh['pv'], 1_000);
  await shine(fromS + 7_200, fromS + 10_800, 1_000);
  for (const granularity of ['hour', 'day'])
    assert.equal(
      (await energyOf(gateway, `${day}&granularity=${granularity}`)).total.sources_wh['pv'],
      2_000,
      granularity,
    );
});

test('two years that are requested alternately are computed once', async (t) => {
  const { gateway, shine } = await sunOnly(t);
  await shine(NOON_S, NOON_S + 3_600, 1_000);
  const nowS = Math.floor(Date.now() / 1_000);
  const years = [
    [nowS - 366 * DAY_S, nowS],
    [nowS - 732 * DAY_S, nowS - 366 * DAY_S],
  ] as const;
  const reading = t.mock.method(Telemetry.prototype, 'amounts');
  const look = async (): Promise<number> => {
    const before = reading.mock.callCount();
    for (const [fromS, toS] of years)
      await energyOf(gateway, `from=${iso(fromS)}&to=${iso(toS)}&granularity=month`);
    return reading.mock.callCount() - before;
  };
  assert.ok((await look()) > 20);
  // Today goes on.
  assert.ok((await look()) <= 1);
});

test('an outage without counters is a gap without invented energy', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone: 'UTC' });
  await gateway.provision('Battery');
  await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', {
    items: [{ role: 'pv', device_id: 'battery', power: 'pv_total_power' }],
  });
  const fromS = NOON_S - 12 * 3_600;
  const rows = [0, 60, 120, 3_600, 3_660].map((offset) => `${fromS + offset},3600`);
  await gateway.ok(
    'OWNER',
    'POST',
    '/v3/telemetry/import',
    `ts,telemetry=pv_total_power device=battery\n${rows.join('\n')}\n`,
    { 'Content-Type': 'text/csv' },
  );
  const { total } = await energyOf(gateway, `from=${iso(fromS)}&to=${iso(fromS + 7_200)}&granularity=hour`);
  assert.equal(total.sources_wh['pv'], 180);
  assert.equal(total.gap_s['pv'], 7_200 - 180);
});

test("an impossible power is unknown, and spoils neither the day's energy nor the flows of now", async (t) => {
  const { gateway } = await sunOnly(t);
  const device = await gateway.provision('Now');
  await device.connect();
  const fromS = NOON_S - 12 * 3_600;
  for (const [hour, extreme] of ['1e308', '-1.7e308', '2e12'].entries()) {
    const rows = Array.from(
      { length: 61 },
      (_, index) => `${fromS + hour * 7_200 + index * 60},${index === 30 ? extreme : 1_000}`,
    );
    const body = `ts,telemetry=pv_total_power device=battery\n${rows.join('\n')}\n`;
    await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', body, { 'Content-Type': 'text/csv' });
  }
  const { total, buckets } = await energyOf(
    gateway,
    `from=${iso(fromS)}&to=${iso(fromS + 3 * 7_200)}&granularity=hour`,
  );
  assert.equal(buckets.length, 6);
  for (const { sources_wh: sources, gap_s: gap } of [0, 2, 4].flatMap((hour) => buckets[hour] ?? []))
    assert.deepEqual([sources['pv'], gap['pv']], [1_000, 0]);
  assert.equal(total.sources_wh['pv'], 3_000);

  await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', {
    items: [{ role: 'pv', device_id: device.id, power: 'pv_total_power' }],
  });
  const now = async () => {
    const { power } = await gateway.ok('READONLY', 'GET', '/v3/site/energy/now');
    return power as { is_complete: boolean; roles: { power_w: number | null; reason: string | null }[] };
  };
  await device.telemetry({ pv_total_power: 5 });
  await until(async () => (await now()).roles[0]?.power_w === 5);
  await device.telemetry({ pv_total_power: 1e308 });
  await until(async () => (await now()).roles[0]?.power_w === null);
  const { is_complete: isComplete, roles } = await now();
  assert.deepEqual([isComplete, roles[0]?.reason], [false, 'implausible']);
});

test('several days in one request equal those requested one by one, across days without measurements', async (t) => {
  const gateway = await startTestGateway(t);
  await gateway.ok('OWNER', 'PATCH', '/v3/site', { timezone: 'Europe/Berlin' });
  await gateway.provision('Battery');
  await gateway.ok('OWNER', 'PATCH', '/v3/site/energy/sources', {
    items: [{ role: 'pv', device_id: 'battery', power: 'pv_total_power' }],
  });
  const endS = NOON_S - 12 * 3_600;
  const fromS = endS - 40 * DAY_S;
  const rows: string[] = [];
  // The first days, some in the middle, and the last; two nights are measured through.
  for (const day of [0, 1, 2, 17, 18, 39])
    for (let atS = 0; atS < DAY_S; atS += 120) rows.push(`${fromS + day * DAY_S + atS},${day + 1}`);
  await gateway.ok(
    'OWNER',
    'POST',
    '/v3/telemetry/import',
    `ts,telemetry=pv_total_power device=battery\n${rows.join('\n')}\n`,
    { 'Content-Type': 'text/csv' },
  );
  const known = (bucket: Bucket) => [bucket.from, bucket.sources_wh, bucket.gap_s];
  const range = `from=${iso(fromS)}&to=${iso(endS)}`;
  const single: unknown[] = [];
  // From both sides, so that some days are known already when the next ones are read.
  for (let atS = fromS + 12 * 3_600; atS < endS + DAY_S; atS += 3 * DAY_S) {
    const { buckets } = await energyOf(gateway, `from=${iso(atS)}&to=${iso(atS + 1)}`);
    single.push(...buckets.map(known));
  }
  const together = (await energyOf(gateway, range)).buckets.map(known);
  assert.equal(together.length, 41);
  for (const day of single)
    assert.deepEqual(
      together.find(([from]) => from === (day as [string])[0]),
      day,
    );
  await gateway.restart();
  assert.deepEqual((await energyOf(gateway, range)).buckets.map(known), together);
});

const iso = (atS: number): string => new Date(atS * 1_000).toISOString();
