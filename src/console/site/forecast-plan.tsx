/** What rules plan for today and tomorrow: a lane for each output, and what comes next in words. */
import type { EnergyForecastOnWire } from '../../capabilities/energy/forecast-schema.ts';
import { groupBy } from '../group-by.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { timesAs } from '../zone.ts';
import { say } from '../words/later.ts';

type Plan = EnergyForecastOnWire['plans'][number];
type Step = Plan['steps'][number];

const WIDTH = 720;
const HEIGHT = 24;
/** Top and height of what is drawn: charging above the middle, discharging below it. */
const PLACES: Readonly<Record<Step['action'], readonly [topPx: number, heightPx: number]>> = {
  CHARGE: [2, 10],
  DISCHARGE: [12, 10],
  HOLD: [11, 2],
  ON: [2, 20],
  OFF: [11, 2],
};
/** In words; the table has all. */
const NEXT_STEPS = 6;

const nameOf = ({ device_name: device, output }: Plan): string =>
  output === undefined ? device : `${device} ${output}`;

/** Its steps are those of a battery, so what the battery did can be laid over them. */
export const isOfBattery = ({ steps }: Plan): boolean =>
  steps.some(({ action }) => action === 'CHARGE' || action === 'DISCHARGE' || action === 'HOLD');

export const planTitle = (plan: Plan): string => say.forecast.planOf(plan.rule_slug, nameOf(plan));

export function Plans({ plans, days, timezone }: EnergyForecastOnWire) {
  const [fromMs, midnightMs, endMs] = [days[0]?.from, days[1]?.from, days.at(-1)?.to].map((at) =>
    Date.parse(at ?? ''),
  ) as [number, number, number];
  const placeOf = (at: string): number => ((Date.parse(at) - fromMs) / (endMs - fromMs)) * WIDTH;
  const clock = timesAs({ hour: '2-digit', minute: '2-digit' }, timezone);
  const textOf = ({ action, from, to }: Step): string =>
    `${say.forecast.planActions[action]} ${clock.format(Date.parse(from))}–${clock.format(Date.parse(to))}`;
  const sentencesOf = ({ steps }: Plan): string => {
    const next = steps.filter(({ to }) => Date.parse(to) > gatewayNowMs());
    const byDay = groupBy(next.slice(0, NEXT_STEPS), ({ from }) => Date.parse(from) >= midnightMs);
    return [...byDay]
      .map(([isTomorrow, those]) => {
        const day = isTomorrow ? say.forecast.tomorrow : say.site.today;
        return `${day}: ${those.map(textOf).join(', ')}.`;
      })
      .join(' ');
  };
  return (
    <>
      {plans.map((plan) => (
        <div key={`${plan.rule_id} ${plan.device_id} ${plan.output}`} class="plan" data-test="plan">
          <p>
            <b>{planTitle(plan)}.</b> {sentencesOf(plan)}
          </p>
          <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            {plan.steps.map(({ action, from, to }) => {
              const [y, height] = PLACES[action];
              const x = placeOf(from);
              return <rect key={from} class={action} {...{ x, y, height }} width={placeOf(to) - x} />;
            })}
            {isOfBattery(plan) && <path class="load measured" d={measuredPath(days, placeOf)} />}
          </svg>
        </div>
      ))}
    </>
  );
}

/** What the battery really did, as steps around the middle, up while it was charged; a gap where nothing is known. */
function measuredPath(days: EnergyForecastOnWire['days'], placeOf: (at: string) => number): string {
  const hours = days.flatMap((day) => day.hours);
  const most = Math.max(1, ...hours.map(({ measured_battery_wh: gave }) => Math.abs(gave ?? 0)));
  return hours
    .flatMap(({ from, to, measured_battery_wh: gave }, index) => {
      if (gave === null) return [];
      const isFirst = (hours[index - 1]?.measured_battery_wh ?? null) === null;
      const y = HEIGHT / 2 + (gave / most) * (HEIGHT / 2 - 1);
      return [`${isFirst ? 'M' : 'L'}${placeOf(from).toFixed(1)} ${y.toFixed(1)}H${placeOf(to).toFixed(1)}`];
    })
    .join('');
}

/** Plan of an hour, as a cell of the table. */
export function plannedIn({ steps }: Plan, { from, to }: { from: string; to: string }): string {
  const [fromMs, toMs] = [Date.parse(from), Date.parse(to)];
  const actions = steps
    .filter((step) => Date.parse(step.from) < toMs && Date.parse(step.to) > fromMs)
    .map(({ action }) => say.forecast.planActions[action]);
  return [...new Set(actions)].join(', ') || '–';
}
