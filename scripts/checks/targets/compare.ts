/** What the gateway and each engine have in the end, read back by what they offer everybody. */
import { parseCsv } from '../../../src/lib/csv.ts';
import { type GatewayClient, inParallel, type ProvisionedDevice } from '../../support/gateway-client.ts';
import { LINE_ENGINE_PROGRAMS } from '../../support/line-engine-programs.ts';
import { SeriesChecksums, type Series } from './series-checksums.ts';
import type { Server } from './programs.ts';

export interface Range {
  /** Number of series of the whole workload. */
  seriesCount: number;
  startS: number;
  seconds: number;
}

const SERIES_AT_ONCE = 2;

export async function bookOfGateway(
  client: GatewayClient,
  devices: readonly ProvisionedDevice[],
  series: readonly Series[],
  { seriesCount, startS, seconds }: Range,
): Promise<SeriesChecksums> {
  const checksums = new SeriesChecksums(seriesCount, startS, seconds);
  for (const [index, { id }] of devices.entries()) {
    const ofDevice = series.filter(({ device }) => device === index);
    const csv = await client.text({
      method: 'POST',
      path: '/telemetry/query_timeseries',
      accept: 'text/csv',
      body: {
        from: startS,
        to: startS + seconds,
        granularity: '1s',
        aggregation: 'last',
        telemetry: ofDevice.map(({ attribute }) => ({ device: id, attribute })),
      },
    });
    const [, ...rows] = parseCsv(csv);
    for (const [second, ...cells] of rows)
      for (const [column, cell] of cells.entries())
        if (cell !== '') checksums.note(ofDevice[column] as Series, Number(second), cell);
  }
  return checksums;
}

export async function bookOfEngine(
  server: Server,
  devices: readonly ProvisionedDevice[],
  series: readonly Series[],
  { seriesCount, startS, seconds }: Range,
): Promise<SeriesChecksums> {
  const checksums = new SeriesChecksums(seriesCount, startS, seconds);
  const { name } = server.recipe;
  if (name === 'Mosquitto') throw new Error('a broker keeps nothing to be read');
  await inParallel(series, SERIES_AT_ONCE, async (one) => {
    const slug = devices[one.device]?.slug ?? '';
    const values = await LINE_ENGINE_PROGRAMS[name].values(server.origin, slug, one.attribute);
    for (const [atS, value] of values) checksums.note(one, atS, value);
  });
  return checksums;
}

/** One sentence for each series that differs. */
export function differences(
  who: string,
  found: SeriesChecksums,
  sent: SeriesChecksums,
  series: readonly Series[],
): string[] {
  return series.flatMap((one) => {
    const [has, had] = [found.sum(one), sent.sum(one)];
    if (has.count === had.count && has.checksum === had.checksum) return [];
    const second = found.firstDifference(sent, one);
    return [
      `${who}: ${one.attribute} of device ${one.device} has ${has.count} values with checksum ${has.checksum}, ` +
        `sent were ${had.count} with ${had.checksum}; they differ from second ${second} on`,
    ];
  });
}
