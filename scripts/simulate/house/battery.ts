/** A week of a battery under changing prices: the strategy, a plain rule, its own decisions, none, and perfect foresight. */
import type { JsonValue } from '../../../src/protocol/telemetry.ts';
import { action, runRule, scriptOf, setpoint, type StrategyCase, value } from './rule-host.ts';
import type { House } from './simulated-gateway.ts';
import {
  createWeek,
  DAY_S,
  FEED_IN,
  forecastOf,
  pricesOf,
  QUARTER_S,
  quartersOf,
  type Tariff,
  type Week,
} from './surroundings.ts';

const CAPACITY_WH = 10_000;
const RESERVE_PERCENT = 10;
const RESERVE_WH = (CAPACITY_WH * RESERVE_PERCENT) / 100;
const START_WH = 5_000;
const CHARGE_W = 3_000;
const DISCHARGE_W = 5_000;
/** Share that arrives, each way. */
const ONE_WAY = 0.95;
/** Steps of stored energy for perfect foresight. */
const UNIT_WH = 25;
/** When the prices of tomorrow are published. */
const PUBLISHED_HOUR = 13;

export const BATTERY_RULES = [
  'no battery',
  'by itself',
  'below and above mean',
  'strategy without a forecast',
  'strategy',
  'optimum',
] as const;
export type BatteryRule = (typeof BATTERY_RULES)[number];

export interface BatteryResult {
  /** Import less export, less what is stored more at the end than at the beginning. */
  cost: number;
  importWh: number;
  loadWh: number;
  cycles: number;
  /** Changes between charging, held and released. */
  switches: number;
  lowestPercent: number;
  errors: string[];
}

interface BatteryWeek {
  seed: number;
  day: number;
  tariff: Tariff;
}

export async function batteryWeek(rule: BatteryRule, week: Week, at: BatteryWeek): Promise<BatteryResult> {
  if (rule === 'optimum') return batteryOptimum(week, pricesOf(at, at.tariff));
  if (rule === 'strategy' || rule === 'strategy without a forecast') {
    const { house, ...rest } = batteryCase(week, at, rule === 'strategy');
    const { errors } = await runRule({ house, ...rest });
    return { ...house.finished(), errors };
  }
  const battery = newBattery(week, at);
  battery.command('battery', rule === 'by itself' ? 'alone' : 'none');
  while (battery.step()) if (rule === 'below and above mean') byMean(battery);
  return battery.finished();
}

const newBattery = (week: Week, at: BatteryWeek): Battery =>
  new Battery(week, pricesOf(at, at.tariff), forecastOf(at, oneDayMore(week, at)));

/** The strategy and its battery. */
export function batteryCase(
  week: Week,
  at: BatteryWeek,
  hasForecast = true,
): StrategyCase & { house: Battery } {
  const code = scriptOf('battery-by-price', {
    prices: value('market', 'prices'),
    battery_soc: value('battery', 'soc'),
    meter: value('meter', 'power'),
    battery_power: value('battery', 'power'),
    ...(hasForecast && { forecast: value('weather', 'power') }),
    charge: setpoint('battery', 'charge'),
    hold: action('battery', 'hold'),
    release: action('battery', 'release'),
    capacity_kwh: CAPACITY_WH / 1_000,
    charge_w: CHARGE_W,
    discharge_w: DISCHARGE_W,
    reserve: RESERVE_PERCENT,
    efficiency: ONE_WAY ** 2 * 100,
    feed_in: FEED_IN,
    // Costs without wear are compared.
    wear: 0,
  });
  return { code, house: newBattery(week, at), stored: learntW(at) };
}

/** A forecast reaches beyond the last day. */
const oneDayMore = ({ stepS, pvW }: Week, at: BatteryWeek): Week =>
  createWeek({ ...at, days: (pvW.length * stepS) / DAY_S + 1, stepS });

/** Mean loads of the week before by hour of the day, with and without the sun: what the strategy would have learnt. */
function learntW({ seed, day }: BatteryWeek): Record<string, Record<string, number>> {
  const at = { seed, day: day - 7 };
  const week = createWeek({ ...at, days: 7, stepS: 300 });
  const sunW = forecastOf(at, week);
  const netW = quartersOf(
    Float64Array.from(week.loadW, (watts, step) => watts - (week.pvW[step] ?? 0)),
    week.stepS,
  );
  const byHour = (quarters: Float64Array): Record<string, number> => {
    const sums = new Float64Array(24);
    for (const [quarter, watts] of quarters.entries()) {
      const hour = Math.floor(quarter / 4) % 24;
      sums[hour] = (sums[hour] ?? 0) + watts;
    }
    return Object.fromEntries([...sums].map((sum, hour) => [`${hour}`, Math.floor(sum / 4 / 7)]));
  };
  return {
    load_w: byHour(netW),
    sunless_w: byHour(netW.map((watts, quarter) => watts + (sunW[quarter] ?? 0))),
  };
}

/** What is stored at the end counts with the lowest price, as it would come out: more would pay for filling it up. */
const worthOf = (storedWh: number, prices: Float64Array): number =>
  (((storedWh - START_WH) * ONE_WAY) / 1_000) * Math.min(...prices);

const NOTHING_YET = { cost: 0, importWh: 0, loadWh: 0, cycles: 0, switches: 0, lowestPercent: 100 };

export class Battery implements House {
  readonly startMs: number;
  readonly stepS: number;
  readonly #week: Week;
  readonly #prices: Float64Array;
  readonly #forecastW: Float64Array;
  readonly result: BatteryResult = { ...NOTHING_YET, errors: [] };
  #step = 0;
  #wh = START_WH;
  #mode = 'none';
  #schedules: { hour: number; prices: JsonValue; forecastW: JsonValue } | undefined;

  constructor(week: Week, prices: Float64Array, forecastW: Float64Array) {
    this.#week = week;
    this.#prices = prices;
    this.#forecastW = forecastW;
    ({ startMs: this.startMs, stepS: this.stepS } = week);
  }

  get socPercent(): number {
    return (this.#wh / CAPACITY_WH) * 100;
  }

  /** Price of the present quarter of an hour, and of all known ones of its day. */
  get price(): { now: number; today: Float64Array } {
    const quarter = Math.min(this.#prices.length - 1, Math.floor((this.#step * this.stepS) / QUARTER_S));
    const midnight = quarter - (quarter % 96);
    return { now: this.#prices[quarter] ?? 0, today: this.#prices.subarray(midnight, midnight + 96) };
  }

  step(): ReadonlyMap<string, JsonValue> | undefined {
    const { pvW, loadW } = this.#week;
    if (this.#step >= pvW.length) return undefined;
    const netW = (loadW[this.#step] ?? 0) - (pvW[this.#step] ?? 0);
    const batteryW = this.#mode === 'none' ? 0 : this.#batteryW(netW);
    const stepH = this.stepS / 3_600;
    this.#wh += (batteryW > 0 ? -batteryW / ONE_WAY : -batteryW * ONE_WAY) * stepH;
    const gridWh = (netW - batteryW) * stepH;
    this.result.cost += (gridWh / 1_000) * (gridWh > 0 ? this.price.now : FEED_IN);
    this.result.importWh += Math.max(0, gridWh);
    this.result.loadWh += (loadW[this.#step] ?? 0) * stepH;
    this.result.cycles += (Math.max(0, batteryW) * stepH) / ONE_WAY / CAPACITY_WH;
    this.result.lowestPercent = Math.min(this.result.lowestPercent, this.socPercent);
    this.#step++;
    const { prices, forecastW } = this.#published();
    return new Map<string, JsonValue>([
      ['meter.power', netW - batteryW],
      ['battery.power', batteryW],
      ['battery.soc', this.socPercent],
      // For plots.
      ['sun.power', pvW[this.#step - 1] ?? 0],
      ['house.power', loadW[this.#step - 1] ?? 0],
      ['market.price_cent', this.price.now * 100],
      ['market.prices', prices],
      ['weather.power', forecastW],
    ]);
  }

  command(_device: string, name: string): void {
    if (name !== this.#mode) this.result.switches++;
    this.#mode = name;
  }

  finished(): BatteryResult {
    this.result.cost -= worthOf(this.#wh, this.#prices);
    return this.result;
  }

  /** Discharging is positive. */
  #batteryW(netW: number): number {
    const stepH = this.stepS / 3_600;
    const most = Math.min(CHARGE_W, (CAPACITY_WH - this.#wh) / ONE_WAY / stepH);
    if (this.#mode === 'charge') return -Math.max(0, most);
    if (netW < 0) return Math.max(netW, -Math.max(0, most));
    if (this.#mode === 'hold') return 0;
    // Left to itself it keeps the reserve; when it is released, only the rule does.
    const leftWh = this.#wh - (this.#mode === 'alone' ? RESERVE_WH : 0);
    return Math.min(netW, DISCHARGE_W, Math.max(0, (leftWh * ONE_WAY) / stepH));
  }

  /** The sun of today and tomorrow, the prices of today, and from some hour on of tomorrow. */
  #published(): { prices: JsonValue; forecastW: JsonValue } {
    const second = this.#step * this.stepS;
    const hour = Math.floor(second / 3_600);
    if (hour === this.#schedules?.hour) return this.#schedules;
    const midnight = Math.floor(second / DAY_S) * 96;
    const days = (second % DAY_S) / 3_600 >= PUBLISHED_HOUR ? 2 : 1;
    const scheduleOf = (values: Float64Array, length: number): JsonValue => ({
      start: this.startMs / 1_000 + midnight * QUARTER_S,
      step_s: QUARTER_S,
      values: [...values.subarray(midnight, midnight + length * 96)],
    });
    this.#schedules = {
      hour,
      prices: scheduleOf(this.#prices, days),
      forecastW: scheduleOf(this.#forecastW, 2),
    };
    return this.#schedules;
  }
}

/** Charges a tenth below the mean of the day, and discharges a tenth above it, as simple automations do. */
function byMean(battery: Battery): void {
  const { now, today } = battery.price;
  const mean = today.reduce((sum, price) => sum + price, 0) / today.length;
  const isLow = battery.socPercent <= RESERVE_PERCENT;
  if (now < 0.9 * mean) battery.command('battery', 'charge');
  else if (now > 1.1 * mean && !isLow) battery.command('battery', 'release');
  else battery.command('battery', 'hold');
}

/** Least cost with all prices, sun and load known: dynamic programming over quarters of an hour and levels of 25 Wh. */
export function batteryOptimum({ pvW, loadW, stepS }: Week, prices: Float64Array): BatteryResult {
  const net = quartersOf(
    Float64Array.from(loadW, (watts, step) => watts - (pvW[step] ?? 0)),
    stepS,
  );
  const levels = (CAPACITY_WH - RESERVE_WH) / UNIT_WH;
  const up = Math.floor(((CHARGE_W / 4) * ONE_WAY) / UNIT_WH);
  const down = Math.floor(DISCHARGE_W / 4 / ONE_WAY / UNIT_WH);
  const gridOf = (quarter: number, change: number): number => {
    const changeWh = change * UNIT_WH;
    return (net[quarter] ?? 0) / 4 + (changeWh > 0 ? changeWh / ONE_WAY : changeWh * ONE_WAY);
  };
  const costOf = (quarter: number, gridWh: number): number =>
    (gridWh / 1_000) * (gridWh > 0 ? (prices[quarter] ?? 0) : FEED_IN);
  const chosen = Array.from(net, () => new Int8Array(levels + 1));
  let cost = Float64Array.from(
    { length: levels + 1 },
    (_, level) => -worthOf(RESERVE_WH + level * UNIT_WH, prices),
  );
  for (let quarter = net.length - 1; quarter >= 0; quarter--) {
    const before = new Float64Array(levels + 1).fill(Number.POSITIVE_INFINITY);
    const table = chosen[quarter] as Int8Array;
    for (let change = -down; change <= up; change++) {
      const own = costOf(quarter, gridOf(quarter, change));
      for (let level = Math.max(0, -change); level + Math.max(0, change) <= levels; level++) {
        const all = own + (cost[level + change] ?? 0);
        if (all >= (before[level] ?? 0) - 1e-12) continue;
        before[level] = all;
        table[level] = change;
      }
    }
    cost = before;
  }
  let level = (START_WH - RESERVE_WH) / UNIT_WH;
  const result = { ...NOTHING_YET, cost: cost[level] ?? 0, errors: [] };
  for (const [quarter, table] of chosen.entries()) {
    const change = table[level] ?? 0;
    level += change;
    result.importWh += Math.max(0, gridOf(quarter, change));
    result.cycles += (Math.max(0, -change) * UNIT_WH) / CAPACITY_WH;
    result.lowestPercent = Math.min(
      result.lowestPercent,
      ((RESERVE_WH + level * UNIT_WH) / CAPACITY_WH) * 100,
    );
  }
  result.loadWh = (loadW.reduce((sum, watts) => sum + watts, 0) * stepS) / 3_600;
  return result;
}
