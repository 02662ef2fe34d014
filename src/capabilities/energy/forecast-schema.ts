/** The forecast of the site's energy as it stands on the wire. */
import * as v from 'valibot';
import { PLAN_ACTIONS } from '../../lib/plan-actions.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { shape } from '../../platform/http/index.ts';
import type { Bucket } from './calendar.ts';
import type { EnergyForecast, ForecastHour } from './forecast.ts';

const known = (about: string) => shape.about(v.nullable(v.number()), about);
const forecastEntries = {
  from: shape.instant(),
  to: shape.instant(),
  pv_wh: known('Wh of sun, by the forecasts of devices; null: none of them says it.'),
  load_wh: known(
    'Wh of consumption, the mean of the same weekday of the last four weeks; null: none is known.',
  ),
  import_price: known('Per kWh, with surcharge and VAT; of a day the mean. Null: not known.'),
  measured_pv_wh: known('What really came. Null: the hour is not over, or has gaps.'),
  measured_load_wh: known('What was really consumed.'),
  measured_battery_wh: known('What the battery really gave; below zero it was charged.'),
};

const dayShape = v.object({
  ...forecastEntries,
  hours: v.array(v.object(forecastEntries)),
});

const planShape = v.object({
  rule_id: shape.id(),
  rule_slug: v.string(),
  device_id: shape.id(),
  device_name: v.string(),
  output: v.optional(shape.about(v.string(), 'Which of several outputs of the device.')),
  steps: v.array(
    v.object({
      from: shape.instant(),
      to: shape.instant(),
      action: v.picklist(PLAN_ACTIONS),
    }),
  ),
});

/** From `GET /v3/site/energy/forecast`. */
export const forecastShape = v.object({
  energy_forecast: shape.named(
    'EnergyForecast',
    v.object({
      timezone: v.string(),
      currency: shape.about(v.nullable(v.string()), 'Of the tariffs; null while there is none.'),
      days: shape.about(v.array(dayShape), 'Today and tomorrow; amounts are of the hours that are known.'),
      plans: shape.about(
        v.array(planShape),
        'What rules that run are going to do; of the time that is over, what they planned.',
      ),
    }),
  ),
});

export type EnergyForecastOnWire = ReturnType<typeof forecastToWire>;

export function forecastToWire({ timezone, currency, days, plans }: EnergyForecast) {
  return {
    timezone,
    currency: currency ?? null,
    days: days.map((day) => ({ ...hourToWire(sumOf(day)), hours: day.hours.map(hourToWire) })),
    plans: plans.map(({ rule, deviceId, deviceName, output, steps }) => ({
      rule_id: rule.id,
      rule_slug: rule.slug,
      device_id: deviceId,
      device_name: deviceName,
      ...(output && { output }),
      steps: steps.map(({ fromS, toS, action }) => ({ ...spanToWire({ fromS, toS }), action })),
    })),
  };
}

/** One day: the sums of what is known, and the mean price. */
function sumOf({ fromS, toS, hours }: EnergyForecast['days'][number]): ForecastHour {
  const sum = (name: Exclude<keyof ForecastHour, 'fromS' | 'toS'>): [number, number] => {
    const amounts = hours.map((hour) => hour[name]).filter((amount) => amount !== null);
    return [amounts.reduce((all, amount) => all + amount, 0), amounts.length];
  };
  const whole = (name: Parameters<typeof sum>[0]): number | null => {
    const [all, count] = sum(name);
    return count === 0 ? null : all;
  };
  const [prices, count] = sum('importPrice');
  return {
    fromS,
    toS,
    pvWh: whole('pvWh'),
    loadWh: whole('loadWh'),
    importPrice: count === 0 ? null : prices / count,
    measuredPvWh: whole('measuredPvWh'),
    measuredLoadWh: whole('measuredLoadWh'),
    measuredBatteryWh: whole('measuredBatteryWh'),
  };
}

function hourToWire({ fromS, toS, ...hour }: ForecastHour) {
  const { pvWh, loadWh, importPrice, measuredPvWh, measuredLoadWh, measuredBatteryWh } = hour;
  return {
    ...spanToWire({ fromS, toS }),
    pv_wh: rounded(pvWh),
    load_wh: rounded(loadWh),
    import_price: rounded(importPrice, 1e6),
    measured_pv_wh: rounded(measuredPvWh),
    measured_load_wh: rounded(measuredLoadWh),
    measured_battery_wh: rounded(measuredBatteryWh),
  };
}

const spanToWire = ({ fromS, toS }: Bucket) => ({
  from: formatTimestamp(fromS * 1_000),
  to: formatTimestamp(toS * 1_000),
});

const rounded = (value: number | null, parts = 10): number | null =>
  value === null ? null : Math.round(value * parts) / parts;
