/** The money of the books equals a plain model, over random tariffs, changed clocks, outages and late prices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createRandom } from '../../scripts/support/random.ts';
import { chance, runs } from '../support/runs.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';

const ZONE = 'Europe/Berlin';
const MINUTE_S = 60;
const QUARTER_S = 900;
/** Two stretches of whole local days, each with a change of the clocks. */
const STRETCHES = [
  { from: '2025-03-28T23:00:00Z', to: '2025-04-01T22:00:00Z' },
  { from: '2025-10-23T22:00:00Z', to: '2025-11-02T23:00:00Z' },
] as const;
const NAMES = { grid: 'grid_total_power', pv: 'pv_total_power', price: 'battery_soc' };

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

interface Traded {
  import: number;
  export: number;
  ownConsumption: number;
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

interface Price {
  kind: 'FIXED' | 'TWO_RATE' | 'DEVICE';
  price?: number;
  low_price?: number;
  low_times?: string;
  device_id?: string;
  attribute?: string;
  surcharge_per_kwh: number;
}

interface Tariff {
  valid_from: string;
  import_price: Price;
  export_price: Price | null;
  vat_percent: number;
  standing_charge_per_day: number;
  standing_charge_per_month: number;
}

const cents = (most: number) => fc.integer({ min: -most, max: most }).map((value) => value / 100);
const WINDOWS: readonly { text: string; isLow: (weekday: string, hour: number) => boolean }[] = [
  { text: '22:00-06:00', isLow: (_, hour) => hour >= 22 || hour < 6 },
  { text: 'sat-sun', isLow: (weekday) => weekday === 'Sat' || weekday === 'Sun' },
  {
    text: 'mon-fri 2:00-3:00, sun 02:00-03:00',
    isLow: (weekday, hour) => weekday !== 'Sat' && hour === 2,
  },
];
const price: fc.Arbitrary<Price> = fc
  .record({
    kind: fc.constantFrom('FIXED' as const, 'TWO_RATE' as const, 'DEVICE' as const),
    price: cents(60),
    low: cents(60),
    window: fc.constantFrom(...WINDOWS),
    surcharge_per_kwh: cents(20),
  })
  .map(({ kind, price: usual, low, window, surcharge_per_kwh }): Price => {
    if (kind === 'DEVICE') return { kind, device_id: 'battery', attribute: NAMES.price, surcharge_per_kwh };
    if (kind === 'FIXED') return { kind, price: usual, surcharge_per_kwh };
    return { kind, price: usual, low_price: low, low_times: window.text, surcharge_per_kwh };
  });
const tariffs: fc.Arbitrary<Tariff[]> = fc.uniqueArray(
  fc.record({
    valid_from: fc.constantFrom(
      '2024-12-01',
      '2025-03-30',
      '2025-03-31',
      '2025-10-25',
      '2025-10-27',
      '2025-11-01',
    ),
    import_price: price,
    export_price: fc.option(price, { freq: 4 }),
    vat_percent: fc.constantFrom(0, 7, 19, 25.5),
    standing_charge_per_day: fc.constantFrom(0, 0.35),
    standing_charge_per_month: fc.constantFrom(0, 12.9),
  }),
  { selector: ({ valid_from }) => valid_from, minLength: 1, maxLength: 5 },
);

const clock = new Intl.DateTimeFormat('en-GB', {
  timeZone: ZONE,
  weekday: 'short',
  hour: '2-digit',
  hourCycle: 'h23',
});
const dayFormat = new Intl.DateTimeFormat('sv-SE', { timeZone: ZONE });

/** The plain model: quarter by quarter, day by day. */
class Model {
  readonly #traded = new Map<number, Traded>();
  readonly #prices = new Map<number, number>();

  add(rows: readonly Row[]): void {
    for (const [quarter, traded] of tradedOf(rows)) this.#traded.set(quarter, traded);
    for (const { atS, price: value } of rows)
      if (value !== undefined) this.#prices.set(Math.floor(atS / QUARTER_S), value);
  }

  money(tariffBook: readonly Tariff[], fromS: number, toS: number) {
    const sorted = tariffBook.toSorted((a, b) => (a.valid_from < b.valid_from ? -1 : 1));
    const sums = { import_cost: 0, export_revenue: 0, own_consumption_value: 0, standing_charge: 0 };
    const unpriced = { import: 0, export: 0, own_consumption: 0 };
    const days = new Set<string>();
    for (let atS = fromS; atS < toS; atS += QUARTER_S) {
      const date = dayFormat.format(atS * 1_000);
      const tariff = sorted.findLast(({ valid_from }) => valid_from <= date);
      if (tariff && !days.has(date)) {
        days.add(date);
        const ofMonth = new Date(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0).getDate();
        const plain = tariff.standing_charge_per_day + tariff.standing_charge_per_month / ofMonth;
        sums.standing_charge += plain * (1 + tariff.vat_percent / 100);
      }
      const traded = this.#traded.get(atS / QUARTER_S);
      if (!traded) continue;
      const plain = tariff && this.#priceAt(tariff.import_price, atS);
      const buying = plain === undefined || !tariff ? undefined : plain * (1 + tariff.vat_percent / 100);
      const selling = tariff?.export_price ? this.#priceAt(tariff.export_price, atS) : undefined;
      if (buying === undefined) {
        unpriced.import += traded.import;
        unpriced.own_consumption += traded.ownConsumption;
      } else {
        sums.import_cost += traded.import * buying;
        sums.own_consumption_value += traded.ownConsumption * buying;
      }
      if (selling === undefined) unpriced.export += traded.export;
      else sums.export_revenue += traded.export * selling;
    }
    return { ...sums, unpriced_kwh: unpriced };
  }

  #priceAt(source: Price, atS: number): number | undefined {
    const plain = this.#plainPriceAt(source, atS);
    return plain === undefined ? undefined : plain + source.surcharge_per_kwh;
  }

  #plainPriceAt(source: Price, atS: number): number | undefined {
    if (source.kind === 'FIXED') return source.price;
    if (source.kind === 'TWO_RATE') {
      const parts = clock.formatToParts(atS * 1_000);
      const part = (name: string): string => parts.find(({ type }) => type === name)?.value ?? '';
      const isLow = WINDOWS.find(({ text }) => text === source.low_times)?.isLow;
      return isLow?.(part('weekday'), Number(part('hour'))) ? source.low_price : source.price;
    }
    // A price holds until the next one, for an hour at most.
    for (let back = 0; back < 4; back++) {
      const known = this.#prices.get(atS / QUARTER_S - back);
      if (known !== undefined) return known;
    }
    return undefined;
  }
}

type Money = ReturnType<Model['money']> & { total_cost: number };
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

function assertMoney(shown: Money | null, wanted: ReturnType<Model['money']>, where: string): void {
  assert.ok(shown, where);
  const { total_cost: total, unpriced_kwh: unpriced, ...amounts } = shown;
  const near = (name: string, a: number, b: number): void =>
    assert.ok(Math.abs(a - b) < 0.005, `${where}: ${name} is ${a} and not ${b}`);
  for (const [name, amount] of Object.entries(amounts))
    near(name, amount, wanted[name as keyof typeof amounts]);
  for (const [name, kWh] of Object.entries(unpriced))
    near(`unpriced ${name}`, kWh, wanted.unpriced_kwh[name as keyof typeof unpriced]);
  near('total_cost', total, wanted.import_cost + wanted.standing_charge - wanted.export_revenue);
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
      model.add(rows);
      await importRows(started, rows);
    }
  });

  const energy = async (from: string, to: string, granularity: string): Promise<Energy> => {
    const query = `from=${from}&to=${to}&granularity=${granularity}`;
    return (await gateway().ok('READONLY', 'GET', `/v3/site/energy?${query}`))['energy'] as Energy;
  };

  test('is null while there is no tariff', async () => {
    const [{ from, to }] = STRETCHES;
    const { currency, total, buckets } = await energy(from, to, 'day');
    assert.equal(currency, null);
    assert.equal(total.money, null);
    assert.ok(buckets.every(({ money }) => money === null));
  });

  test('equals the plain model to the cent, whatever the tariffs', async () => {
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
            const wanted = model.money(items, s(bucket.from), s(bucket.to));
            // The model counts whole days of standing charges, an hour has its part of them.
            const standing =
              granularity === 'hour' ? (bucket.money?.standing_charge ?? 0) : wanted.standing_charge;
            assertMoney(bucket.money, { ...wanted, standing_charge: standing }, bucket.from);
          }
        },
      ),
      { ...chance(), numRuns: runs(25) },
    );
  });

  test('counts a price that comes later, and no longer as energy without a price', async () => {
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

  test('is asked for whole years', async () => {
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
