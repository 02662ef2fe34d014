/** Today and tomorrow: the expected sun, consumption and price, and over them what really came. */
import type { EnergyForecastOnWire } from '../../capabilities/energy/forecast-schema.ts';
import { callFor } from '../api.ts';
import { numberAs } from '../format.ts';
import { gatewayNowMs, slowNowS } from '../gateway-time.ts';
import { Card, PictureTable, useAnswer, useRefresh } from '../ui.tsx';
import { timesAs } from '../zone.ts';
import { currencySymbol, energyText } from './energy.ts';
import { isOfBattery, plannedIn, Plans, planTitle } from './forecast-plan.tsx';
import { say } from '../words/later.ts';

type Forecast = EnergyForecastOnWire;
type Day = Forecast['days'][number];
type Hour = Day['hours'][number];
type Amount = 'pv_wh' | 'load_wh' | 'measured_pv_wh' | 'measured_load_wh' | 'measured_battery_wh';

const REFRESH_MS = 300_000;
const WIDTH = 720;
const HEIGHT = 140;
const PRICE_HEIGHT = 36;
/** Room above the highest value. */
const HEAD = 1.06;

const isKnown = (hours: readonly Hour[], name: Amount | 'import_price'): boolean =>
  hours.some((hour) => hour[name] !== null);

/** Absent while nothing of tomorrow is known and no rule has a plan. */
export function ForecastCard() {
  // The day may end while this is shown.
  const hour = Math.floor(slowNowS.value / 3_600);
  const { answer, refresh } = useAnswer(
    () => callFor<Forecast>('energy_forecast', 'GET', '/v3/site/energy/forecast'),
    [hour],
  );
  useRefresh(refresh, REFRESH_MS);
  const tomorrow = answer?.days[1];
  if (!answer || !tomorrow) return null;
  const isExpected = tomorrow.pv_wh !== null || tomorrow.load_wh !== null;
  if (!isExpected && answer.plans.length === 0) return null;
  const hours = answer.days.flatMap((day) => day.hours);
  return (
    <Card title={say.forecast.title} data-test="forecast">
      <p class="forecast-say">{isExpected && sentencesOf(tomorrow, answer).join(' ')}</p>
      <figure class="forecast">
        <Amounts hours={hours} days={answer.days} />
        {isKnown(hours, 'import_price') && <Prices hours={hours} />}
        <Plans {...answer} />
        <figcaption>
          <span>{say.site.today}</span>
          <span>{say.forecast.tomorrow}</span>
        </figcaption>
        <Legend
          hours={hours}
          hasPlans={answer.plans.length > 0}
          isMeasured={answer.plans.some(isOfBattery) && isKnown(hours, 'measured_battery_wh')}
        />
        <ForecastTable hours={hours} forecast={answer} />
      </figure>
    </Card>
  );
}

function sentencesOf({ pv_wh: sunWh, load_wh: loadWh, hours }: Day, forecast: Forecast): string[] {
  const textOf = timesAs({ hour: '2-digit', minute: '2-digit' }, forecast.timezone);
  const priced = hours.filter(({ import_price: price }) => price !== null);
  const byPrice = priced.toSorted((a, b) => (a.import_price ?? 0) - (b.import_price ?? 0));
  const [cheapest, dearest] = [byPrice[0], byPrice.at(-1)];
  const said = (hour: Hour): string =>
    say.forecast.priceAt(textOf.format(Date.parse(hour.from)), priceText(hour.import_price, forecast));
  return [
    say.forecast.amounts(
      [
        sunWh === null ? '' : say.forecast.sunOf(energyText(sunWh)),
        loadWh === null ? '' : say.forecast.loadOf(energyText(loadWh)),
      ].filter((part) => part !== ''),
    ),
    ...(cheapest && dearest && cheapest.import_price !== dearest.import_price
      ? [say.forecast.prices(said(cheapest), said(dearest))]
      : []),
  ];
}

function priceText(price: number | null, { currency }: Forecast): string {
  if (price === null) return '';
  return currency === null ? numberAs(price, 3) : `${numberAs(price, 3)} ${currencySymbol(currency)}/kWh`;
}

/** The tops of the hours, as steps; a gap where nothing is known. */
function stepsOf(hours: readonly Hour[], name: Amount, heightOf: (amount: number) => number): string {
  const stepPx = WIDTH / hours.length;
  return hours
    .flatMap((hour, index) => {
      const amount = hour[name];
      if (amount === null) return [];
      const isFirst = index === 0 || (hours[index - 1]?.[name] ?? null) === null;
      const topPx = (HEIGHT - heightOf(amount)).toFixed(1);
      return [
        `${isFirst ? 'M' : 'L'}${(index * stepPx).toFixed(1)} ${topPx}H${((index + 1) * stepPx).toFixed(1)}`,
      ];
    })
    .join('');
}

function Amounts({ hours, days }: { hours: readonly Hour[]; days: readonly Day[] }) {
  const names = ['pv_wh', 'load_wh', 'measured_pv_wh', 'measured_load_wh'] as const;
  const most = Math.max(1, ...hours.flatMap((hour) => names.map((name) => hour[name] ?? 0))) * HEAD;
  const heightOf = (amount: number): number => (amount / most) * HEIGHT;
  const stepPx = WIDTH / hours.length;
  const placeOf = (atMs: number): number => {
    const fromMs = Date.parse(hours[0]?.from ?? '');
    return ((atMs - fromMs) / (Date.parse(hours.at(-1)?.to ?? '') - fromMs)) * WIDTH;
  };
  const nowPx = placeOf(gatewayNowMs());
  const midnightPx = placeOf(Date.parse(days[1]?.from ?? ''));
  return (
    <svg
      class="amounts"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={say.forecast.picture}
    >
      {(['pv_wh', 'measured_pv_wh'] as const).map((name) =>
        hours.map((hour, index) => {
          const heightPx = heightOf(hour[name] ?? 0);
          return heightPx === 0 ? null : (
            <rect
              key={`${name} ${hour.from}`}
              class={name === 'pv_wh' ? 'pv expected' : 'pv'}
              x={index * stepPx + stepPx * 0.1}
              y={HEIGHT - heightPx}
              width={stepPx * 0.8}
              height={heightPx}
            />
          );
        }),
      )}
      <path class="load expected" d={stepsOf(hours, 'load_wh', heightOf)} />
      <path class="load" d={stepsOf(hours, 'measured_load_wh', heightOf)} />
      <path class="midnight" d={`M${midnightPx} 0V${HEIGHT}`} />
      <path class="now" d={`M${nowPx} 0V${HEIGHT}`} />
    </svg>
  );
}

/** Prices have a lane of their own, because another unit has no place on the same axis. */
function Prices({ hours }: { hours: readonly Hour[] }) {
  const prices = hours.map(({ import_price: price }) => price ?? 0);
  const [least, most] = [Math.min(0, ...prices), Math.max(0, ...prices)];
  const span = most - least || 1;
  const stepPx = WIDTH / hours.length;
  return (
    <svg
      class="prices"
      viewBox={`0 0 ${WIDTH} ${PRICE_HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {hours.map(({ from, import_price: price }, index) =>
        price === null ? null : (
          <rect
            key={from}
            class="grid"
            x={index * stepPx + stepPx * 0.1}
            y={((most - Math.max(0, price)) / span) * PRICE_HEIGHT}
            width={stepPx * 0.8}
            height={Math.max(1, (Math.abs(price) / span) * PRICE_HEIGHT)}
          />
        ),
      )}
    </svg>
  );
}

function Legend({
  hours,
  hasPlans,
  isMeasured,
}: {
  hours: readonly Hour[];
  hasPlans: boolean;
  isMeasured: boolean;
}) {
  const entries = [
    { role: 'pv', text: say.site.role.pv, names: ['pv_wh', 'measured_pv_wh'] },
    { role: 'load', text: say.site.consumption, names: ['load_wh', 'measured_load_wh'] },
    { role: 'grid', text: say.forecast.importPrice, names: ['import_price'] },
  ] as const;
  return (
    <ul class="legend">
      {entries
        .filter(({ names }) => names.some((name) => isKnown(hours, name)))
        .map(({ role, text }) => (
          <li key={role}>
            <i class={role} aria-hidden="true" />
            {text}
          </li>
        ))}
      <li>{say.forecast.howDrawn}</li>
      {hasPlans && <li>{say.forecast.howPlanned}</li>}
      {isMeasured && <li>{say.forecast.planMeasured}</li>}
    </ul>
  );
}

function ForecastTable({ hours, forecast }: { hours: readonly Hour[]; forecast: Forecast }) {
  const textOf = timesAs({ weekday: 'short', hour: '2-digit', minute: '2-digit' }, forecast.timezone);
  const columns = [
    { name: 'pv_wh', text: say.forecast.sunExpected },
    { name: 'measured_pv_wh', text: say.forecast.sunMeasured },
    { name: 'load_wh', text: say.forecast.loadExpected },
    { name: 'measured_load_wh', text: say.forecast.loadMeasured },
    { name: 'measured_battery_wh', text: say.forecast.batteryMeasured },
    { name: 'import_price', text: say.forecast.importPrice },
  ] as const;
  const shown = columns.filter(({ name }) => isKnown(hours, name));
  const cellOf = (hour: Hour, name: (typeof columns)[number]['name']): string => {
    const value = hour[name];
    if (value === null) return '–';
    return name === 'import_price' ? priceText(value, forecast) : energyText(value);
  };
  return (
    <details>
      <summary>{say.history.asTable}</summary>
      <PictureTable
        name={say.forecast.picture}
        head={[say.site.from, ...shown.map(({ text }) => text), ...forecast.plans.map(planTitle)]}
        rows={hours.map((hour) => ({
          key: hour.from,
          title: textOf.format(Date.parse(hour.from)),
          cells: [
            ...shown.map(({ name }) => cellOf(hour, name)),
            ...forecast.plans.map((plan) => plannedIn(plan, hour)),
          ],
        }))}
      />
    </details>
  );
}
