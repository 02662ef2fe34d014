/** Compares what the gateway stored of field devices with what the devices said. */
import type { Clock } from '../../src/platform/clock/index.ts';
import type { Poll } from './field-devices.ts';
import { type GatewayClient, inParallel } from './gateway-client.ts';

/** A number that the gateway kept. */
export interface StoredValue {
  device: number;
  atS: number;
  value: number;
}

/** Attributes of the inverter and of the meter beside it. */
const ATTRIBUTES = ['pv_total_power', 'grid_total_power'];
/** A poll, its way to the gateway, and seconds that are cut off. */
const FRESH_MS = 2_500;
const READ_AT_ONCE = 4;

/** Every stored value of these devices, each second that has one. */
export function storedValues(
  client: GatewayClient,
  clock: Pick<Clock, 'wallMs'>,
  deviceIds: readonly string[],
  fromMs: number,
): Promise<StoredValue[]> {
  const range = { from: Math.floor(fromMs / 1_000), to: Math.ceil(clock.wallMs() / 1_000) + 60 };
  return inParallel(deviceIds, READ_AT_ONCE, async (id, device) => {
    const csv = await client.text({
      method: 'POST',
      path: '/telemetry/query_timeseries',
      accept: 'text/csv',
      body: {
        ...range,
        granularity: '1s',
        aggregation: 'last',
        telemetry: [{ device: id, attribute: ATTRIBUTES }],
      },
    });
    return csv
      .trimEnd()
      .split('\n')
      .slice(1)
      .flatMap((row) => {
        const [second = '', ...cells] = row.split(',');
        const atS = Date.parse(second) / 1_000 || Number(second);
        return cells.filter((cell) => cell !== '').map((cell) => ({ device, atS, value: Number(cell) }));
      });
  }).then((lists) => lists.flat());
}

/** Values that no device said at about that time. */
export function untrueValues(stored: readonly StoredValue[], polls: readonly Poll[]): StoredValue[] {
  const saidAtMs = new Map(polls.map(({ value, atMs }) => [value, atMs]));
  return stored.filter(({ atS, value }) => {
    const atMs = saidAtMs.get(value);
    return atMs === undefined || Math.abs(atS * 1_000 + 500 - atMs) > FRESH_MS;
  });
}
