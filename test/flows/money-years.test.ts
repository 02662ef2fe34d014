/** Ten years of books in money against a plain model: tariffs, changed clocks, outages, counters that start again, late prices. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { createRandom } from '../../scripts/support/random.ts';
import { manifestWith, zipOf } from '../capabilities/blueprints/support.ts';
import { chance, runs } from '../support/runs.ts';
import { type TestGateway, useTestGateway } from '../support/test-gateway.ts';
import {
  assertMoney,
  Model,
  type Money,
  QUARTER_S,
  type Tariff,
  type Traded,
  tariffsFrom,
  ZONE,
} from './money-model.ts';

const HOUR_S = 3_600;
const DAY_S = 86_400;
/** A counter is spread over so long at most. */
const BRIDGE_S = 6 * HOUR_S;
const YEARS = Array.from({ length: 10 }, (_, index) => 2016 + index);
const METER = `telemetry:
  grid_power: { type: float, display_name: Grid Power, unit: W }
  pv_power: { type: float, display_name: PV Power, unit: W }
  imported: { type: float, display_name: Imported, unit: Wh }
  exported: { type: float, display_name: Exported, unit: Wh }
  price: { type: float, display_name: Price }
`;
const COLUMNS = ['grid_power', 'pv_power', 'imported', 'exported', 'price'];
const seed = chance().seed ?? Math.floor(Math.random() * 2 ** 31);

interface Sample {
  atS: number;
  gridW: number;
  pvW: number;
  imported: number;
  exported: number;
  /** Which counter it is; it grows when the meter is replaced. */
  meter: number;
}

interface LatePrice {
  atS: number;
  price: number | undefined;
}

/** The parts of a line from `a` to `b` above and below zero, as means over its length. */
function halves(a: number, b: number): [above: number, below: number] {
  const above = a * b >= 0 ? Math.max(0, a + b) / 2 : Math.max(a, b) ** 2 / Math.abs(a - b) / 2;
  return [above, above - (a + b) / 2];
}

/** A sample each hour, but none in outages; a meter that is replaced in one of them begins at a small number. */
function samplesOf(fromS: number, toS: number): Sample[] {
  const random = createRandom(seed, 1);
  const samples: Sample[] = [];
  let silentUntilS = 0;
  let [imported, exported, meter] = [5e6, 3e6, 0];
  let [lastGridW, lastPvW] = [0, 0];
  for (let atS = fromS; atS < toS; atS += HOUR_S) {
    const pvW = random.integer(0, 8_000);
    const gridW = random.integer(-pvW, 6_000);
    const [above, below] = halves(lastGridW, gridW);
    [imported, exported] = [imported + above, exported + below];
    [lastGridW, lastPvW] = [gridW, pvW];
    if (random.chance(0.01)) {
      silentUntilS = atS + random.integer(1, 9) * HOUR_S;
      if (random.chance(0.05)) [imported, exported, meter] = [1_000, 1_000, meter + 1];
    }
    if (atS >= silentUntilS) samples.push({ atS, gridW, pvW: lastPvW, imported, exported, meter });
  }
  return samples;
}

/** A price for most hours, for some days one for each quarter of an hour, for some none. */
function pricesOf(fromS: number, toS: number): LatePrice[] {
  const random = createRandom(seed, 2);
  const prices: LatePrice[] = [];
  let stepS = HOUR_S;
  for (let atS = fromS; atS < toS; atS += stepS) {
    if (atS % DAY_S === 0) stepS = random.chance(0.2) ? QUARTER_S : HOUR_S;
    if (random.chance(0.95)) prices.push({ atS, price: random.integer(-500, 9_000) / 10_000 });
  }
  return prices;
}

/** kWh by quarter: by powers from hour to hour, else evenly by counters; nothing where there are neither. */
function tradedOf(samples: readonly Sample[]): Map<number, Traded> {
  const quarters = new Map<number, Traded>();
  for (const [index, last] of samples.slice(1).entries()) {
    const first = samples[index] as Sample;
    const lengthS = last.atS - first.atS;
    const count = lengthS / QUARTER_S;
    for (let step = 0; step < count; step++) {
      const quarter = first.atS / QUARTER_S + step;
      if (lengthS === HOUR_S) {
        const at = (from: number, to: number, part: number): number => from + ((to - from) * part) / count;
        const grid = (part: number): number => at(first.gridW, last.gridW, part);
        const [above, below] = halves(grid(step), grid(step + 1));
        const pvW = at(first.pvW, last.pvW, step + 0.5);
        const [imported, exported, own] = [above, below, pvW - below].map((w) => w / 4 / 1_000);
        quarters.set(quarter, { import: imported, export: exported, ownConsumption: own } as Traded);
      } else if (lengthS <= BRIDGE_S && first.meter === last.meter)
        quarters.set(quarter, {
          import: (last.imported - first.imported) / count / 1_000,
          export: (last.exported - first.exported) / count / 1_000,
          ownConsumption: 0,
        });
    }
  }
  return quarters;
}

interface Books {
  total: { money: Money };
  buckets: { from: string; to: string; money: Money }[];
}

const s = (text: string): number => Date.parse(text) / 1_000;
/** When a day begins in the time zone of the site. */
const midnight = (date: string): string => {
  const noon = new Date(`${date}T12:00:00Z`);
  const hour = Number(noon.toLocaleString('en-GB', { timeZone: ZONE, hour: '2-digit', hourCycle: 'h23' }));
  return new Date(s(`${date}T00:00:00Z`) * 1_000 - (hour - 12) * HOUR_S * 1_000).toISOString();
};
const newYear = (year: number): string => midnight(`${year}-01-01`);
const MONTHS = Array.from({ length: 12 }, (_, index) => String(index + 1).padStart(2, '0'));

/** One book of tariffs for all years. */
const tariffs: fc.Arbitrary<Tariff[]> = fc
  .tuple(
    ...YEARS.map((year) =>
      fc
        .array(fc.tuple(fc.constantFrom(...MONTHS), fc.integer({ min: 1, max: 28 })), { minLength: 5 })
        .chain((days) =>
          tariffsFrom(days.map(([month, day]) => `${year}-${month}-${String(day).padStart(2, '0')}`)),
        ),
    ),
  )
  .map((books) => {
    const items = books.flat();
    for (const { import_price: bought, export_price: sold } of items)
      for (const price of [bought, sold])
        if (price?.kind === 'DEVICE') Object.assign(price, { device_id: 'meter', attribute: 'price' });
    return items;
  });

const pricesAsRows = (prices: readonly LatePrice[]) =>
  prices.map(({ atS, price }) => [atS, '', '', '', '', price]);

async function importRows(gateway: TestGateway, rows: (number | string | undefined)[][]): Promise<void> {
  const head = ['ts', ...COLUMNS.map((name) => `telemetry=${name} device=meter`)].join(',');
  const csv = `${head}\n${rows.map((row) => row.join(',')).join('\n')}\n`;
  await gateway.ok('OWNER', 'POST', '/v3/telemetry/import', csv, { 'Content-Type': 'text/csv' });
}

describe('the books of ten years', () => {
  const model = new Model();
  const [fromS, toS] = [s(newYear(2016)), s(newYear(2026))];
  const gateway = useTestGateway(
    { environment: { GATEWAY_TELEMETRY_SAMPLE_DAYS: '5000' } },
    async (started) => {
      await started.ok('OWNER', 'PATCH', '/v3/site', { timezone: ZONE });
      const zip = await zipOf({ 'manifest.yml': manifestWith(METER) });
      const { blueprint } = await started.ok('OWNER', 'POST', '/v3/blueprints/upload', zip, {
        'Content-Type': 'application/zip',
      });
      await started.provision('Meter', (blueprint as { id: string }).id);
      const of = { device_id: 'meter' };
      const items = [
        { ...of, role: 'grid', power: 'grid_power', energy_forward: 'imported', energy_reverse: 'exported' },
        { ...of, role: 'pv', power: 'pv_power' },
      ];
      await started.ok('OWNER', 'PATCH', '/v3/site/energy/sources', { items, gap_after_s: HOUR_S });
      const samples = samplesOf(fromS, toS);
      const prices = pricesOf(fromS, toS);
      model.add(tradedOf(samples), prices);
      await importRows(
        started,
        samples.map(({ atS, gridW, pvW, imported, exported }) => [atS, gridW, pvW, imported, exported, '']),
      );
      await importRows(started, pricesAsRows(prices));
    },
  );

  const books = async (from: string, to: string, granularity: string): Promise<Books> => {
    const query = `from=${from}&to=${to}&granularity=${granularity}`;
    return (await gateway().ok('READONLY', 'GET', `/v3/site/energy?${query}`))['energy'] as Books;
  };

  async function compare(items: readonly Tariff[], from: string, to: string, granularity: string) {
    const { total, buckets } = await books(from, to, granularity);
    assertMoney(total.money, model.money(items, s(from), s(to)), `${granularity}s from ${from}`);
    for (const { from: start, to: end, money } of buckets)
      assertMoney(money, model.money(items, s(start), s(end)), `${granularity} ${start}`);
    return buckets.length;
  }

  test('the books of ten years equal a plain model to the cent by hour, day, month and year', async () => {
    await fc.assert(
      fc.asyncProperty(tariffs, async (items) => {
        await gateway().ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', { currency: 'EUR', items });
        for (const year of YEARS) {
          const [from, to] = [newYear(year), newYear(year + 1)];
          assert.equal(await compare(items, from, to, 'day'), year % 4 === 0 ? 366 : 365);
          assert.equal(await compare(items, from, to, 'month'), 12);
          // A month in which the clocks change.
          const [month, next] = year % 2 === 0 ? ['03', '04'] : ['10', '11'];
          await compare(items, midnight(`${year}-${month}-01`), midnight(`${year}-${next}-01`), 'hour');
        }
      }),
      { seed, numRuns: runs(1), endOnFailure: true },
    );
  });

  test('the books of ten years count prices that are corrected later, for a year and each of its tariffs', async () => {
    const [items] = fc.sample(tariffs, { seed, numRuns: 1 });
    assert.ok(items);
    await gateway().ok('OWNER', 'PATCH', '/v3/site/energy/tariffs', { currency: 'EUR', items });
    const [from, to] = [newYear(2020), newYear(2021)];
    const random = createRandom(seed, 3);
    const quarters = new Set(Array.from({ length: 2_000 }, () => random.integer(0, 365 * 96)));
    const corrected = [...quarters]
      .toSorted((a, b) => a - b)
      .map((quarter) => ({
        atS: s(from) + quarter * QUARTER_S + 420,
        price: random.integer(-500, 9_000) / 10_000,
      }));
    model.add(new Map(), corrected);
    await importRows(gateway(), pricesAsRows(corrected));
    assert.equal(await compare(items, from, to, 'year'), 1);
    const begins = items.map(({ valid_from: date }) => midnight(date)).toSorted();
    for (const [index, begin] of begins.entries())
      if (begin.startsWith('2020')) await compare(items, begin, begins[index + 1] ?? newYear(2026), 'day');
  });
});
