/** Days around a house: sun by season and clouds, load of its people, prices, and trips of its car. Seeded. */
import { createRandom, createWander, type Random } from '../../support/random.ts';
import { createSurroundings } from '../surroundings.ts';

export const DAY_S = 86_400;
export const QUARTER_S = 900;
const DAYS_OF_YEAR = 365;

export interface WeekOptions {
  seed: number;
  /** Day of the year on which it begins, from 0. */
  day: number;
  days: number;
  stepS: number;
}

/** What happens to the house, whatever is done: one value for each step. */
export interface Week {
  stepS: number;
  startMs: number;
  pvW: Float64Array;
  loadW: Float64Array;
}

const YEAR_START_MS = Date.UTC(2026, 0, 1);
const PV_PEAK_W = 9_000;

export function createWeek({ seed, day, days, stepS }: WeekOptions): Week {
  const random = createRandom(seed, day + 1);
  const steps = (days * DAY_S) / stepS;
  const surroundings = createSurroundings(random.fork(1), 0);
  const sky = createSky(random.fork(2), day, stepS);
  const pvW = new Float64Array(steps);
  const loadW = new Float64Array(steps);
  for (let step = 0; step < steps; step++) {
    const hour = ((step * stepS) % DAY_S) / 3_600;
    loadW[step] = surroundings(hour, stepS).loadW;
    pvW[step] = PV_PEAK_W * sunlight(day + Math.floor((step * stepS) / DAY_S), hour) * sky();
  }
  return { stepS, startMs: YEAR_START_MS + day * DAY_S * 1_000, pvW, loadW };
}

const LATITUDE = (50 * Math.PI) / 180;

/** Share of the peak under a clear sky: sine of the sun's height, a little less near the horizon. */
function sunlight(day: number, hour: number): number {
  const declination = -0.409 * Math.cos((2 * Math.PI * (day + 10)) / DAYS_OF_YEAR);
  const angle = ((hour - 12) / 24) * 2 * Math.PI;
  const height =
    Math.sin(LATITUDE) * Math.sin(declination) + Math.cos(LATITUDE) * Math.cos(declination) * Math.cos(angle);
  return Math.max(0, height) ** 1.2 * 0.9;
}

/** Share of the clear sky's light in the next step: days are clear, mixed or grey, and clouds pass on mixed ones. */
function createSky(random: Random, day: number, stepS: number): () => number {
  const winter = 0.5 + 0.5 * Math.cos((2 * Math.PI * (day - 10)) / DAYS_OF_YEAR);
  const cloud = createWander(random.fork(1), { mean: 0, deviation: 1, timeConstantS: 240 });
  let step = 0;
  let mean = 1;
  let deviation = 0;
  return () => {
    if ((step++ * stepS) % DAY_S === 0) {
      const kind = random.next();
      [mean, deviation] =
        kind < 0.35 - 0.2 * winter ? [0.95, 0.02] : kind < 0.75 - 0.3 * winter ? [0.6, 0.28] : [0.2, 0.06];
    }
    return Math.min(1, Math.max(0.05, mean + deviation * cloud(stepS)));
  };
}

/** Means over quarters of an hour. */
export function quartersOf(values: Float64Array, stepS: number): Float64Array {
  const each = QUARTER_S / stepS;
  return Float64Array.from({ length: values.length / each }, (_, quarter) => {
    let sum = 0;
    for (let step = quarter * each; step < (quarter + 1) * each; step++) sum += values[step] ?? 0;
    return sum / each;
  });
}

export const TARIFFS = ['dynamic', 'two rates'] as const;
export type Tariff = (typeof TARIFFS)[number];
export const FEED_IN = 0.08;

/** Prices per kWh of the week and of the day after it, by the quarter of an hour. */
export function pricesOf({ seed, day }: Pick<WeekOptions, 'seed' | 'day'>, tariff: Tariff): Float64Array {
  const random = createRandom(seed, 10_000 + day);
  const perDay = DAY_S / QUARTER_S;
  const prices = new Float64Array(8 * perDay);
  let level = 0;
  let noise = 0;
  for (const [quarter] of prices.entries()) {
    const hour = (quarter % perDay) / 4;
    if (quarter % perDay === 0) level = 0.03 * random.gaussian();
    if (quarter % 4 === 0) noise = 0.012 * random.gaussian();
    const peaks = 0.07 * bell(hour, 8, 1.5) + 0.11 * bell(hour, 19, 2) - 0.08 * bell(hour, 13.5, 2.2);
    const isNight = hour < 6 || hour >= 22;
    prices[quarter] = tariff === 'dynamic' ? 0.28 + level + noise + peaks : isNight ? 0.22 : 0.34;
  }
  return prices;
}

const bell = (hour: number, center: number, width: number): number =>
  Math.exp(-(((hour - center) / width) ** 2) / 2);

/** The car is away from one quarter of an hour to another. */
export interface Trip {
  from: number;
  to: number;
}

/** One trip a day, later on some days. */
export function tripsOf({ seed, day }: Pick<WeekOptions, 'seed' | 'day'>): Trip[] {
  const random = createRandom(seed, 20_000 + day);
  return Array.from({ length: 7 }, (_, index) => {
    const isLate = (day + index) % 7 > 4;
    const from = index * 96 + (isLate ? 40 : 30);
    return { from, to: index * 96 + random.integer(isLate ? 50 : 48, isLate ? 66 : 58) };
  });
}

/**
 * What a weather service would have said about the power of the sun, W, by the quarter of an hour: right about the season,
 * wrong by a quarter about a day and by a fifth about an hour, and on every tenth day it expects an average sky.
 */
export function forecastOf(at: Pick<WeekOptions, 'seed' | 'day'>, { pvW, stepS }: Week): Float64Array {
  const random = createRandom(at.seed, 30_000 + at.day);
  const quarters = quartersOf(pvW, stepS);
  const perDay = DAY_S / QUARTER_S;
  let day = 1;
  let hour = 1;
  let isAverage = false;
  return quarters.map((watts, quarter) => {
    if (quarter % perDay === 0) {
      isAverage = random.next() < 0.1;
      day = Math.exp(0.25 * random.gaussian());
    }
    if (quarter % 4 === 0) hour = Math.exp(0.2 * random.gaussian());
    const clearW =
      PV_PEAK_W * sunlight(at.day + Math.floor(quarter / perDay), ((quarter + 0.5) % perDay) / 4);
    return Math.min(clearW, (isAverage ? 0.55 * clearW : watts) * day * hour);
  });
}
