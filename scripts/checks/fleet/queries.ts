/** The queries that are shipped for many boxes, and what each must answer by what the boxes have themselves. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const FOLDER = join(import.meta.dirname, '..', '..', '..', 'docs', 'monitoring');
const SILENT_S_MAX = 900;
const LAG_S_MAX = 3_600;
const DISK_PERCENT_MAX = 90;
const HISTORY_DAYS_MIN = 14;

/** Newest samples of the gateway's own device. */
export type OwnSamples = ReadonlyMap<string, { atS: number; value: number }>;

export interface ShippedQuery {
  name: string;
  expression: string;
  /** Expected value of one box at a moment; undefined: it is not in the answer. */
  expected: (own: OwnSamples, atS: number) => number | undefined;
}

/** Attributes of the gateway's own device that are asked for. */
export const ATTRIBUTES = [
  'uptime_s',
  'targets_lag_s',
  'devices_online',
  'telemetry_values_per_second',
  'cpu_load_percent',
  'disk_used_percent',
  'history_days_left',
];

type Expected = ShippedQuery['expected'];

const valueOf =
  (attribute: string): Expected =>
  (own) =>
    own.get(attribute)?.value;
const silentS: Expected = (own, atS) => {
  const last = own.get('uptime_s');
  return last && atS - last.atS;
};
const where =
  (of: Expected, isIt: (value: number) => boolean): Expected =>
  (own, atS) => {
    const value = of(own, atS);
    return value !== undefined && isIt(value) ? value : undefined;
  };

const PANELS: Readonly<Record<string, Expected>> = {
  'Silent for': silentS,
  'Lag of targets': valueOf('targets_lag_s'),
  'Devices online': valueOf('devices_online'),
  'Values taken in': valueOf('telemetry_values_per_second'),
  Processor: valueOf('cpu_load_percent'),
  'Disk used': valueOf('disk_used_percent'),
};

const ALERTS: Readonly<Record<string, Expected>> = {
  BoxIsSilent: where(silentS, (value) => value > SILENT_S_MAX),
  BoxFallsBehind: where(valueOf('targets_lag_s'), (value) => value > LAG_S_MAX),
  BoxDiskAlmostFull: where(valueOf('disk_used_percent'), (value) => value > DISK_PERCENT_MAX),
  BoxHistoryShort: where(valueOf('history_days_left'), (value) => value < HISTORY_DAYS_MIN),
};

const expectedOf = (name: string, table: Readonly<Record<string, Expected>>): Expected => {
  const expected = table[name];
  if (!expected) throw new Error(`nobody says what ${name} must answer`);
  return expected;
};

/** All of dashboard and alerts. @throws Error for one that nothing is known of here */
export function shippedQueries(): ShippedQuery[] {
  const dashboard = JSON.parse(readFileSync(join(FOLDER, 'fleet-dashboard.json'), 'utf8')) as {
    panels: { title: string; targets?: { expr: string }[] }[];
  };
  const alerts = parse(readFileSync(join(FOLDER, 'fleet-alerts.yml'), 'utf8')) as {
    groups: { rules: { alert: string; expr: string }[] }[];
  };
  return [
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({
        name: title,
        // As Grafana does for "All".
        expression: expr.replaceAll('$site', '.*'),
        expected: expectedOf(title, PANELS),
      })),
    ),
    ...alerts.groups.flatMap(({ rules }) =>
      rules.map(({ alert, expr }) => ({
        name: alert,
        expression: expr,
        expected: expectedOf(alert, ALERTS),
      })),
    ),
  ];
}

/** Answer of one moment, by site. */
export async function answersOf(
  origin: string,
  expression: string,
  atS: number,
): Promise<Map<string, number>> {
  const asked = new URLSearchParams({
    query: expression,
    time: String(atS),
    nocache: '1',
    // What came in the last half minute counts too.
    latency_offset: '1ms',
  });
  const answer = await fetch(`${origin}/api/v1/query?${asked.toString()}`);
  const { data, error } = (await answer.json()) as {
    data?: { result: { metric: { site?: string }; value: [number, string] }[] };
    error?: string;
  };
  if (!data) throw new Error(`${expression}: ${error}`);
  return new Map(data.result.map(({ metric, value }) => [metric.site ?? '', Number(value[1])]));
}
