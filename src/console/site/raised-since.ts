/** Since when alerts are raised: the history of the values that say so, read back to where they were not. */
import { callForText } from '../api.ts';
import { parseCsv } from '../../lib/csv.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import type { LiveDevice } from '../live.ts';

const LOOK_BACK_S = 86_400;
const DEVICES_MAX = 10;

/** By device id and alert name, as words. */
export async function raisedSince(devices: readonly LiveDevice[]): Promise<ReadonlyMap<string, string>> {
  const found = new Map<string, string>();
  await Promise.all(
    devices.slice(0, DEVICES_MAX).map(async (live) => {
      for (const [name, since] of await ofDevice(live)) found.set(`${live.device.id} ${name}`, since);
    }),
  );
  return found;
}

async function ofDevice({ device, manifest }: LiveDevice): Promise<[string, string][]> {
  const declared = Object.entries(manifest?.telemetry ?? {}).filter(([, { type }]) => type === 'alerts');
  const attributes = new Set(['alerts', ...declared.map(([name]) => name)]);
  const toS = Math.ceil(gatewayNowMs() / 1_000) + 1;
  const text = await callForText(
    'POST',
    '/v3/telemetry/query_timeseries',
    {
      from: toS - LOOK_BACK_S,
      to: toS,
      granularity: '1m',
      aggregation: 'last',
      telemetry: [{ device: device.id, attribute: [...attributes] }],
    },
    'text/csv',
  );
  const rows = parseCsv(text)
    .slice(1)
    .map(([timestamp = '', ...values]) => ({ atS: Number(timestamp), values }));
  return (device.raised_alert_names ?? []).map((name) => [name, sinceOf(name, rows)]);
}

/** Rows in order of time, a list as JSON in each cell that has one. Empty when it was never raised in them. */
export function sinceOf(name: string, rows: readonly { atS: number; values: readonly string[] }[]): string {
  const quoted = JSON.stringify(name);
  const latest: string[] = [];
  let since: { atS: number; isFirst: boolean } | undefined;
  for (const [index, { atS, values }] of rows.entries()) {
    for (const [column, value] of values.entries()) if (value !== '') latest[column] = value;
    const isRaised = latest.some((value) => value?.includes(quoted));
    since = isRaised ? (since ?? { atS, isFirst: index === 0 }) : undefined;
  }
  if (!since) return '';
  return `since ${momentOf(since.atS)}${since.isFirst ? ' or longer' : ''}`;
}

function momentOf(atS: number): string {
  const moment = new Date(atS * 1_000);
  const time = moment.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
  const isToday = moment.toDateString() === new Date(gatewayNowMs()).toDateString();
  return isToday ? time : `yesterday ${time}`;
}
