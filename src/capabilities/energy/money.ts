/** Energy in quarters of an hour, and the money that it costs, brings and saves. */
import { LIMITS } from '../../lib/limits.ts';
import type { EpochS } from '../../lib/time.ts';
import { type FlowMatrix, flowIndex, ORIGINS, USES } from './model.ts';

const { quarterS: QUARTER_S } = LIMITS.energy;

/** The kinds of energy that have a price. */
const TRADED = ['import', 'export', 'ownConsumption'] as const;
type Traded = (typeof TRADED)[number];

/** Wh in each quarter of an hour, kind by kind. */
export type TradedWh = Float64Array<ArrayBuffer>;

/** Prices per kWh from a quarter on, VAT and surcharges included; NaN is unknown. */
export interface Prices {
  firstQuarter: number;
  import: Float64Array;
  export: Float64Array;
}

/** In the currency of the site. */
export interface Money {
  importCost: number;
  exportRevenue: number;
  ownConsumptionValue: number;
  standingCharge: number;
  /** Wh without a known price: they are in none of the amounts. */
  unpricedWh: Record<Traded, number>;
}

export const noMoney = (): Money => ({
  importCost: 0,
  exportRevenue: 0,
  ownConsumptionValue: 0,
  standingCharge: 0,
  unpricedWh: { import: 0, export: 0, ownConsumption: 0 },
});

/** Room for the quarters that [fromS, toS) touches. */
export const emptyTraded = (fromS: EpochS, toS: EpochS): TradedWh =>
  new Float64Array(TRADED.length * (Math.ceil(toS / QUARTER_S) - Math.floor(fromS / QUARTER_S)));

const OWN = ['pv', 'generator', 'battery'] as const;
const CONSUMPTION = ['load', 'electrolyser', 'ev_charger', 'heat_pump'] as const;
const OWN_CONSUMPTION = OWN.flatMap((origin) => CONSUMPTION.map((use) => flowIndex(origin, use)));
const IMPORT = USES.map((use) => flowIndex('grid', use));
const EXPORT = ORIGINS.map((origin) => flowIndex(origin, 'grid'));
const PLACES: Readonly<Record<Traded, readonly number[]>> = {
  import: IMPORT,
  export: EXPORT,
  ownConsumption: OWN_CONSUMPTION,
};

/** Adds the flows of a minute to its quarter; `fromS` is where the quarters begin. */
export function addTraded(traded: TradedWh, fromS: EpochS, flows: FlowMatrix, startS: EpochS): void {
  const offset = (Math.floor(startS / QUARTER_S) - Math.floor(fromS / QUARTER_S)) * TRADED.length;
  for (const [kind, name] of TRADED.entries())
    for (const place of PLACES[name])
      traded[offset + kind] = (traded[offset + kind] as number) + (flows[place] as number);
}

/** Adds what the energy of quarters costs and brings. */
export function addMoney(into: Money, traded: TradedWh, fromS: EpochS, prices: Prices): void {
  const first = Math.floor(fromS / QUARTER_S) - prices.firstQuarter;
  const amounts: Record<Traded, number> = { import: 0, export: 0, ownConsumption: 0 };
  for (let offset = 0; offset < traded.length; offset++) {
    const wh = traded[offset] as number;
    if (wh === 0) continue;
    const name = TRADED[offset % TRADED.length] as Traded;
    const quarter = first + Math.floor(offset / TRADED.length);
    const price = prices[name === 'export' ? 'export' : 'import'][quarter] ?? Number.NaN;
    if (Number.isNaN(price)) into.unpricedWh[name] += wh;
    else amounts[name] += (wh / 1_000) * price;
  }
  into.importCost += amounts.import;
  into.exportRevenue += amounts.export;
  into.ownConsumptionValue += amounts.ownConsumption;
}
