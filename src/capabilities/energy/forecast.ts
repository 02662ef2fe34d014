/**
 * Today and tomorrow, hour by hour: the sun by the forecasts of devices, the consumption as on the same weekday of the
 * last weeks, the price of import, and what really came, of the battery, too.
 */
import { LIMITS } from '../../lib/limits.ts';
import type { PlanAction } from '../../lib/plan-actions.ts';
import type { EpochS } from '../../lib/time.ts';
import type { EnergyBalance } from './balance.ts';
import { type Bucket, daysOf, type LocalDay } from './calendar.ts';
import { flowIndex, ORIGINS, USES } from './model.ts';
import type { Schedule } from './schedule.ts';
import { ROLES } from './tables.ts';

const { quarterS: QUARTER_S, forecastWeeks: WEEKS } = LIMITS.energy;
const DAY_S = 86_400;
const CONSUMPTION = ['load', 'electrolyser', 'ev_charger', 'heat_pump'] as const;
/** An hour with longer gaps says little of the next one. */
const KNOWN_SHARE = 0.9;

/** Null: not known. */
export interface ForecastHour extends Bucket {
  pvWh: number | null;
  loadWh: number | null;
  /** Per kWh, with surcharge and VAT. */
  importPrice: number | null;
  measuredPvWh: number | null;
  measuredLoadWh: number | null;
  /** Net: what the battery gave, below zero what it took. */
  measuredBatteryWh: number | null;
}

export interface EnergyForecast {
  timezone: string;
  currency: string | undefined;
  days: readonly (Bucket & { hours: readonly ForecastHour[] })[];
  plans: readonly DevicePlan[];
}

/** What a rule is going to do with a device. */
export interface DevicePlan {
  rule: { id: string; slug: string };
  deviceId: string;
  deviceName: string;
  /** Which of several outputs of the device; empty: it has one. */
  output: string;
  steps: readonly (Bucket & { action: PlanAction })[];
}

interface Past {
  /** The books of the hours of some days. */
  hours: (days: Bucket) => Promise<readonly (Bucket & { balance: EnergyBalance })[]>;
  /** Whether something measures the whole consumption; else it is the rest of the balance. */
  hasLoad: boolean;
  nowS: EpochS;
  timezone: string;
}

interface Ahead {
  sunW: Schedule | undefined;
  importPrice: (quarter: number) => number | undefined;
}

/** Today and tomorrow. */
export async function forecastDays(past: Past, ahead: Ahead): Promise<EnergyForecast['days']> {
  const { timezone, nowS } = past;
  const [today] = daysOf(timezone, nowS, nowS + 1);
  const [tomorrow] = today ? daysOf(timezone, today.toS, today.toS + 1) : [];
  const found: (Bucket & { hours: ForecastHour[] })[] = [];
  for (const day of [today, tomorrow]) {
    if (!day) continue;
    const expected = await expectedLoad(day, past);
    const measured = day.fromS <= nowS ? await past.hours(day) : [];
    const hours = day.edgesS.slice(0, -1).map((fromS, index) => {
      const toS = day.edgesS[index + 1] as EpochS;
      const books = measured.find((one) => one.fromS === fromS);
      return {
        fromS,
        toS,
        pvWh: meanOf(fromS, toS, (quarter) => ahead.sunW?.(quarter * QUARTER_S), (toS - fromS) / 3_600),
        loadWh: expected(fromS),
        importPrice: meanOf(fromS, toS, ahead.importPrice),
        ...measuredOf(books && toS <= nowS ? books : undefined, past),
      };
    });
    found.push({ fromS: day.fromS, toS: day.toS, hours });
  }
  return found;
}

/** The parts of plans that are of these days. */
export function plansWithin(plans: readonly DevicePlan[], days: readonly Bucket[]): DevicePlan[] {
  const [firstS, endS] = [days[0]?.fromS ?? 0, days.at(-1)?.toS ?? 0];
  return plans
    .map((plan) => ({
      ...plan,
      steps: plan.steps
        .map((step) => ({
          ...step,
          fromS: Math.max(step.fromS, firstS),
          toS: Math.min(step.toS, endS),
        }))
        .filter(({ fromS, toS }) => fromS < toS),
    }))
    .filter(({ steps }) => steps.length > 0);
}

/** The mean of the quarters, times the factor; null unless all are known. */
function meanOf(
  fromS: EpochS,
  toS: EpochS,
  at: (quarter: number) => number | undefined,
  factor = 1,
): number | null {
  const [from, to] = [Math.floor(fromS / QUARTER_S), Math.ceil(toS / QUARTER_S)];
  let sum = 0;
  for (let quarter = from; quarter < to; quarter++) sum += at(quarter) ?? Number.NaN;
  return Number.isNaN(sum) ? null : (sum / (to - from)) * factor;
}

/** Keyed by hour of the clock, because days on which the clocks change have another length. */
async function expectedLoad(day: LocalDay, past: Past): Promise<(atS: EpochS) => number | null> {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: past.timezone,
    hour: 'numeric',
    hourCycle: 'h23',
  });
  const hourOf = (atS: EpochS): string => format.format(atS * 1_000);
  const noonS = (day.fromS + day.toS) / 2;
  const known: { hour: string; loadWh: number }[] = [];
  for (let week = 1; week <= WEEKS; week++) {
    const noonBeforeS = noonS - week * 7 * DAY_S;
    for (const before of daysOf(past.timezone, noonBeforeS, noonBeforeS + 1))
      for (const books of await past.hours(before)) {
        const { measuredLoadWh: loadWh } = measuredOf(books, past);
        if (loadWh !== null) known.push({ hour: hourOf(books.fromS), loadWh });
      }
  }
  const byHour = Map.groupBy(known, ({ hour }) => hour);
  return (atS) => {
    const those = byHour.get(hourOf(atS));
    return those ? those.reduce((sum, { loadWh }) => sum + loadWh, 0) / those.length : null;
  };
}

type Measured = Pick<ForecastHour, 'measuredPvWh' | 'measuredLoadWh' | 'measuredBatteryWh'>;

function measuredOf(
  books: (Bucket & { balance: EnergyBalance }) | undefined,
  { hasLoad }: Pick<Past, 'hasLoad'>,
): Measured {
  if (!books) return { measuredPvWh: null, measuredLoadWh: null, measuredBatteryWh: null };
  const { balance, fromS, toS } = books;
  const isKnown = (role: (typeof ROLES)[number]): boolean =>
    (balance.knownS[ROLES.indexOf(role)] as number) >= KNOWN_SHARE * (toS - fromS);
  const sum = (
    origins: readonly (typeof ORIGINS)[number][],
    uses: readonly (typeof USES)[number][],
  ): number =>
    origins
      .flatMap((origin) => uses.map((use) => balance.flowsWh[flowIndex(origin, use)] as number))
      .reduce((all, amountWh) => all + amountWh, 0);
  return {
    measuredPvWh: isKnown('pv') ? sum(['pv'], USES) : null,
    measuredLoadWh: isKnown(hasLoad ? 'load' : 'grid') ? sum(ORIGINS, CONSUMPTION) : null,
    measuredBatteryWh: isKnown('battery') ? sum(['battery'], USES) - sum(ORIGINS, ['battery']) : null,
  };
}
