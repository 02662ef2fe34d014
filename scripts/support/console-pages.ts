/** What the console's pages ask the gateway for when they open, so that benchmarks ask the same. */
import type { DurationS, EpochS } from '../../src/lib/time.ts';
import type { GatewayClient, GatewayRequest } from './gateway-client.ts';
import { measuredNames, type WorkloadDevice } from './workload.ts';

const DAY_S = 86_400;
/** Rows of the table of devices that are in sight. */
const ROWS_IN_SIGHT = 14;
const VALUES_OF_ROW = 2;
/** Lines of a device's page, one for each number. */
const LINES_OF_DEVICE = 40;
const SPARKLINE_STEP_S = 900;
/** A chart has at most 500 points, in steps of 1, 2, 5, 10, 15 or 30 minutes. */
const DAY_CHART_STEP_S = 300;

/** A device of workload W as the gateway knows it. */
export interface NamedDevice {
  id: string;
  workload: WorkloadDevice;
}

export const mostTelling = ({ workload }: NamedDevice): string[] =>
  measuredNames(workload).slice(0, VALUES_OF_ROW);

export const inSight = (devices: readonly NamedDevice[]): readonly NamedDevice[] =>
  devices.slice(0, ROWS_IN_SIGHT);

/** The stream that stays open beside the overview. */
export const overviewStream = (devices: readonly NamedDevice[]): string =>
  `/v3/devices?changes=true&telemetry.of=${inSight(devices)
    .map(({ id }) => id)
    .join()}`;

/** The overview of a site with a table of devices. */
export function overviewRequests(devices: readonly NamedDevice[], nowS: EpochS): GatewayRequest[] {
  const rows = inSight(devices).map(
    (device) => [`devices[${device.id}]`, mostTelling(device).join()] as const,
  );
  const latest = new URLSearchParams([
    ...rows.map(([name, value]) => [name, value]),
    ['relevance_interval', '1y'],
  ]);
  return [
    { path: '/site' },
    {
      path: '/devices?expand=connectivity,communication,raised_alert_names,room,position&limit=1000&offset=0',
    },
    { path: '/site/attention' },
    { path: '/alerts?state=RAISED&limit=200&offset=0' },
    { path: '/site/energy/now' },
    energyOf(nowS - DAY_S, nowS),
    { path: `/telemetry/latest?${latest.toString()}` },
  ];
}

/** What an open overview goes on to ask for every five seconds. */
export const POWER_NOW: GatewayRequest = { path: '/site/energy/now' };

/** The page of a day's energy in hours, with the day before. */
export const energyDayRequests = (nowS: EpochS): GatewayRequest[] => [
  energyOf(nowS - DAY_S, nowS),
  energyOf(nowS - 2 * DAY_S, nowS - DAY_S),
];

function energyOf(fromS: EpochS, toS: EpochS): GatewayRequest {
  const time = (atS: EpochS): string => new Date(atS * 1_000).toISOString();
  return { path: `/site/energy?granularity=hour&from=${time(fromS)}&to=${time(toS)}` };
}

/** The powers of a day as a chart: lines of up to six series with their bands. */
export const dayChartRequest = (series: readonly SeriesName[], nowS: EpochS): GatewayRequest =>
  chartRequest(
    series.flatMap((one) =>
      (['auto', 'min', 'max'] as const).map((aggregation) => ({ ...one, aggregation })),
    ),
    { fromS: nowS - DAY_S, toS: nowS, stepS: DAY_CHART_STEP_S },
  );

/** The small lines of a device's page: the last day of each of its numbers. */
export const sparklineRequest = (device: NamedDevice, nowS: EpochS): GatewayRequest => {
  const toS = Math.ceil(nowS / SPARKLINE_STEP_S) * SPARKLINE_STEP_S;
  return chartRequest(
    numbersOf(device).map((attribute) => ({ device: device.id, attribute, aggregation: 'auto' })),
    { fromS: toS - DAY_S, toS, stepS: SPARKLINE_STEP_S },
  );
};

const numbersOf = ({ workload }: NamedDevice): string[] =>
  workload.signals
    .filter(({ form }) => form !== 'state' && form !== 'switch')
    .map(({ name }) => name)
    .slice(0, LINES_OF_DEVICE);

/** One attribute of one device. */
export interface SeriesName {
  device: string;
  attribute: string;
}

/** Means of series in steps, as CSV. */
export function chartRequest(
  telemetry: readonly (SeriesName & { aggregation: 'auto' | 'avg' | 'min' | 'max' })[],
  { fromS, toS, stepS }: { fromS: EpochS; toS: EpochS; stepS: DurationS },
): GatewayRequest {
  const body = { from: fromS, to: toS, granularity: `${stepS}s`, telemetry };
  return { method: 'POST', path: '/telemetry/query_timeseries', accept: 'text/csv', body };
}

/** Makes the powers of three devices of workload W those of the site: sun, battery and grid. */
export async function setEnergySources(
  client: GatewayClient,
  devices: readonly NamedDevice[],
): Promise<void> {
  const idOf = (kind: string): string => devices.find(({ workload }) => workload.kind === kind)?.id ?? '';
  const items = [
    { role: 'pv', device_id: idOf('pv_inverter'), power: 'ac_power' },
    { role: 'battery', device_id: idOf('battery'), power: 'power', state_of_charge: 'soc' },
    { role: 'grid', device_id: idOf('meter'), power: 'active_power' },
  ].filter(({ device_id: id }) => id !== '');
  await client.json({ method: 'PATCH', path: '/site/energy/sources', body: { items } });
}
