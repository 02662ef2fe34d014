/** The books in money as a plain model has them: quarter by quarter, day by day; and tariffs for it by chance. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';

export const ZONE = 'Europe/Berlin';
export const QUARTER_S = 900;
export const NAMES = { grid: 'grid_total_power', pv: 'pv_total_power', price: 'battery_soc' };

/** kWh of a quarter of an hour. */
export interface Traded {
  import: number;
  export: number;
  ownConsumption: number;
}

export interface Price {
  kind: 'FIXED' | 'TWO_RATE' | 'DEVICE';
  price?: number;
  low_price?: number;
  low_times?: string;
  device_id?: string;
  attribute?: string;
  surcharge_per_kwh: number;
}

export interface Tariff {
  valid_from: string;
  import_price: Price;
  export_price: Price | null;
  vat_percent: number;
  standing_charge_per_day: number;
  standing_charge_per_month: number;
}

const cents = (most: number) => fc.integer({ min: -most, max: most }).map((value) => value / 100);
export const WINDOWS: readonly { text: string; isLow: (weekday: string, hour: number) => boolean }[] = [
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
/** Up to five, each from one of these days. */
export const tariffsFrom = (days: readonly string[]): fc.Arbitrary<Tariff[]> =>
  fc.uniqueArray(
    fc.record({
      valid_from: fc.constantFrom(...days),
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

interface LocalQuarter {
  date: string;
  weekday: string;
  hour: number;
}

/** The plain model: quarter by quarter, day by day. */
export class Model {
  readonly #traded = new Map<number, Traded>();
  readonly #prices = new Map<number, number>();

  readonly #local = new Map<number, LocalQuarter>();
  readonly #quartersOf = new Map<string, number>();

  add(
    traded: ReadonlyMap<number, Traded>,
    prices: Iterable<{ atS: number; price: number | undefined }>,
  ): void {
    for (const [quarter, amounts] of traded) this.#traded.set(quarter, amounts);
    for (const { atS, price: value } of prices)
      if (value !== undefined) this.#prices.set(Math.floor(atS / QUARTER_S), value);
  }

  money(tariffBook: readonly Tariff[], fromS: number, toS: number) {
    const sorted = tariffBook.toSorted((a, b) => (a.valid_from < b.valid_from ? -1 : 1));
    const sums = { import_cost: 0, export_revenue: 0, own_consumption_value: 0, standing_charge: 0 };
    const unpriced = { import: 0, export: 0, own_consumption: 0 };
    for (let atS = fromS; atS < toS; atS += QUARTER_S) {
      const { date } = this.#localAt(atS);
      const tariff = sorted.findLast(({ valid_from }) => valid_from <= date);
      if (tariff) {
        const ofMonth = new Date(Number(date.slice(0, 4)), Number(date.slice(5, 7)), 0).getDate();
        const plain = tariff.standing_charge_per_day + tariff.standing_charge_per_month / ofMonth;
        sums.standing_charge += (plain * (1 + tariff.vat_percent / 100)) / this.#quartersIn(date, atS);
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

  #localAt(atS: number): LocalQuarter {
    const known = this.#local.get(atS);
    if (known) return known;
    const parts = clock.formatToParts(atS * 1_000);
    const part = (name: string): string => parts.find(({ type }) => type === name)?.value ?? '';
    const local = {
      date: dayFormat.format(atS * 1_000),
      weekday: part('weekday'),
      hour: Number(part('hour')),
    };
    this.#local.set(atS, local);
    return local;
  }

  /** A day has 92, 96 or 100 quarters. */
  #quartersIn(date: string, atS: number): number {
    const known = this.#quartersOf.get(date);
    if (known !== undefined) return known;
    let count = 0;
    for (let step = -100; step <= 100; step++)
      if (this.#localAt(atS + step * QUARTER_S).date === date) count++;
    this.#quartersOf.set(date, count);
    return count;
  }

  #priceAt(source: Price, atS: number): number | undefined {
    const plain = this.#plainPriceAt(source, atS);
    return plain === undefined ? undefined : plain + source.surcharge_per_kwh;
  }

  #plainPriceAt(source: Price, atS: number): number | undefined {
    if (source.kind === 'FIXED') return source.price;
    if (source.kind === 'TWO_RATE') {
      const { weekday, hour } = this.#localAt(atS);
      const isLow = WINDOWS.find(({ text }) => text === source.low_times)?.isLow;
      return isLow?.(weekday, hour) ? source.low_price : source.price;
    }
    // A price holds until the next one, for an hour at most.
    for (let back = 0; back < 4; back++) {
      const known = this.#prices.get(atS / QUARTER_S - back);
      if (known !== undefined) return known;
    }
    return undefined;
  }
}

export type Money = ReturnType<Model['money']> & { total_cost: number };
export function assertMoney(shown: Money | null, wanted: ReturnType<Model['money']>, where: string): void {
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
