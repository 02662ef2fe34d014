/**
 * The charts that everybody opens first, over HTTP, on a whole site: 24 hours to now, with a day of workload W stored and open
 * samples. No series is asked for twice, because nobody's first chart is in a memory of charts; once the same again, as a
 * page that stays open asks. Processor time of the gateway beside what passes until the whole answer is there.
 */
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, type GatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import { createTokens, NO_RATE_LIMITS, processorMs, withGateway } from '../support/gateway-process.ts';
import { quantile } from '../support/http-load.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload, measuredNames, type WorkloadDevice } from '../support/workload.ts';

const SEED = 1;
const DAY_S = 86_400;
const HOUR_S = 3_600;
/** The small lines of a device's page. */
const SPARKLINES = { lengthS: HOUR_S, granularity: '120s' };
/** Messages of a device on the way: so many that a commit is never waited for. */
const WINDOW = 200;
/** Until the gateway is done with the devices that have left together. */
const SETTLE_MS = 2_000;

interface Parameters {
  devices: number;
  /** Stored of each device, up to now. */
  seconds: number;
  /** Charts of each kind. */
  repeats: number;
  /** Pages of a device. */
  pages: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'today',
  describe:
    'Charts of the last 24 hours over HTTP, none asked for twice, with a day of workload W and open samples.',
  small: { devices: 3, seconds: 600, repeats: 1, pages: 1 },
  large: { devices: 50, seconds: DAY_S, repeats: 30, pages: 8 },
  seed: SEED,
  isApart: true,
  run: async ({ devices, seconds, repeats, pages }, report) => {
    const clock = createSystemClock();
    try {
      await withGateway({ clock, environment: NO_RATE_LIMITS }, async (home, gateway) => {
        const tokens = await createTokens(home, 'OWNER', 1);
        const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
        const workload = createWorkload({ seed: SEED, devices });
        const logins = await provisionWorkload(client, workload, (zip) =>
          uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
        );
        const startS = Math.floor(clock.wallMs() / 1_000) - seconds;
        const load = { port: home.mqttPort, logins, seed: SEED, devices, startS, seconds };
        const { values } = await publish({ ...load, window: WINDOW, paceMs: 0 });
        report('values stored', values);
        await clock.sleep(SETTLE_MS);
        const take = eachOnce(workload.devices.slice(0, devices - pages).flatMap(measuredBy));
        const asking = { client, clock, pid: gateway.pid, toS: startS + seconds, report };
        const some = (count: number): Series[][] => Array.from({ length: repeats }, () => take(count));
        const day = { ...asking, lengthS: DAY_S };
        const single = some(1);
        await ask('one series, 24 h by 1 min', single, { ...day, granularity: '1m' });
        const again = Array.from({ length: repeats }, () => single[0] ?? []);
        await ask('the same series again', again, { ...day, granularity: '1m' });
        await ask('ten series, 24 h by 1 min', some(10), { ...day, granularity: '1m' });
        await ask('one series, 24 h by 1 s', some(1), { ...day, granularity: '1s' });
        await ask('one series, an hour by 1 s', some(1), { ...asking, lengthS: HOUR_S, granularity: '1s' });
        const cards = workload.devices.slice(devices - pages).map(measuredBy);
        await ask("small lines of a device's page", cards, { ...asking, ...SPARKLINES });
      });
    } finally {
      clock.close();
    }
    return undefined;
  },
};

interface Series {
  device: string;
  attribute: string[];
}

const measuredBy = (device: WorkloadDevice): Series[] =>
  measuredNames(device).map((name) => ({ device: `device-${device.index}`, attribute: [name] }));

/** Takes so many that were not taken before. @throws Error when there are no more */
function eachOnce(series: readonly Series[]): (count: number) => Series[] {
  let taken = 0;
  return (count) => {
    const found = series.slice(taken, (taken += count));
    if (found.length < count) throw new Error('there are too few series for so many charts');
    return found;
  };
}

interface Asking {
  client: GatewayClient;
  clock: Clock;
  pid: number;
  toS: number;
  lengthS: number;
  granularity: string;
  report: Report;
}

async function ask(label: string, charts: readonly (readonly Series[])[], asking: Asking): Promise<void> {
  const { client, clock, pid, toS, lengthS, granularity, report } = asking;
  const tookMs: number[] = [];
  const usedMs = processorMs(pid);
  for (const telemetry of charts) {
    const body = { from: toS - lengthS, to: toS, granularity, aggregation: 'avg', telemetry };
    const startedMs = clock.monotonicMs();
    await client.text({ method: 'POST', path: '/telemetry/query_timeseries', accept: 'text/csv', body });
    tookMs.push(clock.monotonicMs() - startedMs);
  }
  report(`${label}, first time`, tookMs[0] ?? Number.NaN, 'ms');
  const sorted = tookMs.toSorted((a, b) => a - b);
  report(`${label}, median`, quantile(sorted, 0.5), 'ms');
  report(`${label}, least`, sorted[0] ?? Number.NaN, 'ms');
  report(`${label}, processor time of the gateway`, (processorMs(pid) - usedMs) / charts.length, 'ms');
}
