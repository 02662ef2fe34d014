/** The money of the books equals a plain model, over random tariffs, changed clocks, outages and late prices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createRandom } from '../../scripts/support/random.ts';
import { chance, runs } from '../support/runs.ts';
import {
  assertMoney,
  Model,
  type Money,
  NAMES,
  QUARTER_S,
  type Traded,
  tariffsFrom,
  ZONE,
} from './money-model.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';

const MINUTE_S = 60;
/** Two stretches of whole local days, each with a change of the clocks. */
const STRETCHES = [
  { from: '2025-03-28T23:00:00Z', to: '2025-04-01T22:00:00Z' },
  { from: '2025-10-23T22:00:00Z', to: '2025-11-02T23:00:00Z' },
] as const;

const s = (text: string): number => Date.parse(text) / 1_000;

interface Row {
  atS: number;
  gridW: number | undefined;
  pvW: number | undefined;
  price: number | undefined;
}

/** A sample each minute; hours without powers, and hours without prices. */
function rowsOf({ from, to }: (typeof STRETCHES)[number], seed: number): Row[] {
  const random = createRandom(seed);
  const rows: Row[] = [];
  let isSilent = false;
  let isUnpriced = false;
  for (let atS = s(from); atS < s(to); atS += MINUTE_S) {
    if (atS % 3_600 === 0) {
      isSilent = random.chance(0.03);
      isUnpriced = random.chance(0.25);
    }
    const pvW = random.integer(0, 8_000);
    const isNewPrice = !isUnpriced && atS % 300 === 0;
    rows.push({
      atS,
      gridW: isSilent ? undefined : random.integer(-pvW, 6_000),
      pvW: isSilent ? undefined : pvW,
      price: isNewPrice ? random.integer(-500, 9_000) / 10_000 : undefined,
    });
  }
  return rows;
}

/** kWh by quarter of an hour: powers change linearly from minute to minute, and nothing is known beside an outage. */
function tradedOf(rows: readonly Row[]): Map<number, Traded> {
  const quarters = new Map<number, Traded>();
  for (const [index, { atS, gridW: a, pvW: pvA }] of rows.entries()) {
    const { gridW: b, pvW: pvB } = rows[index + 1] ?? {};
    if (a === undefined || b === undefined || pvA === undefined || pvB === undefined) continue;
    const kWh = (w: number): number => w / 60 / 1_000;
    const above = a * b >= 0 ? Math.max(0, a + b) / 2 : Math.max(a, b) ** 2 / Math.abs(a - b) / 2;
    const below = above - (a + b) / 2;
    const traded = quarters.get(Math.floor(atS / QUARTER_S)) ?? { import: 0, export: 0, ownConsumption: 0 };
    traded.import += kWh(above);
    traded.export += kWh(below);
    traded.ownConsumption += kWh((pvA + pvB) / 2 - below);
    quarters.set(Math.floor(atS / QUARTER_S), traded);
  }
  return quarters;
}

const tariffs = tariffsFrom([
  '2024-12-01',
  '2025-03-30',
  '2025-03-31',
  '2025-10-25',
  '2025-10-27',
  '2025-11-01',
]);

interface Energy {
  currency: string | null;
  total: { money: Money | null };
  buckets: { from: string; to: string; money: Money | null }[];
}

async function importRows(gateway: TestGateway, rows: readonly Row[]): Promise<void> {
  const head = ['ts', ...Object.values(NAMES).map((name) => `telemetry=${name} device=battery`)].join(',');
  const lines = rows.map(({ atS, gridW, pvW, price: value }) => [atS, gridW, pvW, value].join(','));
  await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', `${head}\n${lines.join('\n')}\n`, {
    'Content-Type': 'text/csv',
  });
}

describe('the money of the books', () => {
  const model = new Model();
  const gateway = useTestGateway({}, async (started) => {
    await started.ok('OWNER', 'PATCH', '/v3/site', { timezone: ZONE });
    await started.provision('Battery');
    const items = [
      { role: 'grid', device_id: 'battery', power: NAMES.grid },
      { role: 'pv', device_id: 'battery', power: NAMES.pv },
    ];
    await started.ok('OWNER', 'PATCH', '/v3/site/energy/sources', { items, gap_after_s: 60 });
    for (const [index, stretch] of STRETCHES.entries()) {
      const rows = rowsOf(stretch, index + 1);
      model.add(tradedOf(rows), rows);
      await importRows(started, rows);
    }
  });

  const energy = async (from: string, to: string, granularity: string): Promise<Energy> => {
    const query = `from=${from}&to=${to}&granularity=${granularity}`;
    return (await gateway().ok('READONLY', 'GET', `/v3/site/energy?${query}`))['energy'] as Energy;
  };

  test('the money of the books is null while there is no tariff', async () => {
    const [{ from, to }] = STRETCHES;
    const { currency, total, buckets } = await energy(from, to, 'day');
    assert.equal(currency, null);
    assert.equal(total.money, null);
    assert.ok(buckets.every(({ money }) => money === null));
  });

  test('the money of the books equals the plain model to the cent, whatever the tariffs', async () => {
    await fc.assert(
      fc.asyncProperty(
        tariffs,
        fc.constantFrom(...STRETCHES),
        fc.constantFrom('hour', 'day'),
        async (items, { from, to }, granularity) => {
          await gateway().ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', { currency: 'EUR', items });
          const { currency, total, buckets } = await energy(from, to, granularity);
          assert.equal(currency, 'EUR');
          assertMoney(total.money, model.money(items, s(from), s(to)), 'total');
          for (const bucket of buckets) {
            assertMoney(bucket.money, model.money(items, s(bucket.from), s(bucket.to)), bucket.from);
          }
        },
      ),
      { ...chance(), numRuns: runs(25) },
    );
  });

  test('the money of the books counts a price that comes later, and no longer as energy without a price', async () => {
    const items = [
      {
        valid_from: '2024-12-01',
        import_price: {
          kind: 'DEVICE' as const,
          device_id: 'battery',
          attribute: NAMES.price,
          surcharge_per_kwh: 0.1,
        },
        export_price: null,
        vat_percent: 19,
        standing_charge_per_day: 0,
        standing_charge_per_month: 0,
      },
    ];
    await gateway().ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', { items });
    const [, { from, to }] = STRETCHES;
    const early = (await energy(from, to, 'month')).total.money;
    assert.ok(early && early.unpriced_kwh.import > 1);
    const late: Row[] = [];
    for (let atS = s(from) + 420; atS < s(to); atS += QUARTER_S)
      late.push({ atS, gridW: undefined, pvW: undefined, price: 0.25 });
    await importRows(gateway(), late);
    const all = (await energy(from, to, 'month')).total.money;
    assert.equal(all?.unpriced_kwh.import, 0);
    assert.ok(all.import_cost > early.import_cost);
    assert.ok(all.unpriced_kwh.export > 1, 'without an export price its energy has none');
  });

  test('the money of the books has the standing charge of each hour, also of hours in the middle of a day', async () => {
    const free = { kind: 'FIXED' as const, price: 0, surcharge_per_kwh: 0 };
    const items = [
      {
        valid_from: '2024-12-01',
        import_price: free,
        export_price: free,
        vat_percent: 0,
        standing_charge_per_day: 2.4,
        standing_charge_per_month: 0,
      },
    ];
    await gateway().ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', { items });
    const { buckets, total } = await energy('2025-10-24T10:00:00Z', '2025-10-24T14:00:00Z', 'hour');
    assert.deepEqual(
      buckets.map(({ money }) => money?.standing_charge),
      [0.1, 0.1, 0.1, 0.1],
    );
    assert.equal(total.money?.standing_charge, 0.4);
  });

  test('the money of the books is computed for whole years', async () => {
    const { buckets } = await energy('2025-06-01T00:00:00Z', '2025-06-02T00:00:00Z', 'year');
    assert.deepEqual(
      buckets.map(({ from, to }) => [from, to]),
      [['2024-12-31T23:00:00.000Z', '2025-12-31T23:00:00.000Z']],
    );
    const year = buckets[0]?.money;
    const parts = await Promise.all(STRETCHES.map(({ from, to }) => energy(from, to, 'day')));
    const sum = parts.reduce((whole, { total }) => whole + (total.money?.import_cost ?? 0), 0);
    assert.ok(year && Math.abs(year.import_cost - sum) < 0.005, `${year?.import_cost} ${sum}`);
  });
});
