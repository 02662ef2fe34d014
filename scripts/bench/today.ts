/**
 * The chart that everybody opens first, over HTTP: 24 hours to now, with a day of workload W stored and open samples. Another
 * series each time, as when somebody looks around, and the same again, as a page that stays open asks; processor time of the
 * gateway beside what passes until the whole answer is there.
 */
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, type GatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import { createTokens, processorMs, withGateway } from '../support/gateway-process.ts';
import { quantile } from '../support/http-load.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload } from '../support/workload.ts';

const SEED = 1;
const DAY_S = 86_400;
/** Messages of a device on the way: so many that a commit is never waited for. */
const WINDOW = 200;
/** Until the gateway is done with the devices that have left together. */
const SETTLE_MS = 2_000;
const NO_LIMITS = {
  GATEWAY_MQTT_MESSAGES_PER_SECOND: '1000000',
  GATEWAY_MQTT_MESSAGE_BURST: '1000000',
  GATEWAY_HTTP_REQUESTS_PER_SECOND: '1000000',
  GATEWAY_HTTP_REQUEST_BURST: '1000000',
};

interface Parameters {
  devices: number;
  /** Stored of each device, up to now. */
  seconds: number;
  repeats: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'today',
  describe: 'Charts of the last 24 hours over HTTP, with a day of workload W and open samples.',
  small: { devices: 1, seconds: 600, repeats: 2 },
  large: { devices: 5, seconds: DAY_S, repeats: 40 },
  seed: SEED,
  isApart: true,
  run: async ({ devices, seconds, repeats }, report) => {
    const clock = createSystemClock();
    try {
      await withGateway({ clock, environment: NO_LIMITS }, async (home, gateway) => {
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
        const series = workload.devices.flatMap(({ index, signals }) =>
          signals
            .filter(({ form }) => form === 'drift' || form === 'power')
            .map(({ name }) => ({ device: `device-${index}`, attribute: [name] })),
        );
        const asking = { client, clock, pid: gateway.pid, series, toS: startS + seconds, repeats, report };
        await ask('one series, 24 h by 1 min', 1, '1m', asking);
        await ask('the same series again', 1, '1m', { ...asking, series: series.slice(0, 1) });
        await ask('ten series, 24 h by 1 min', 10, '1m', asking);
        await ask('the same ten series again', 10, '1m', { ...asking, series: series.slice(0, 10) });
        await ask('one series, 24 h by 1 s', 1, '1s', asking);
      });
    } finally {
      clock.close();
    }
    return undefined;
  },
};

interface Asking {
  client: GatewayClient;
  clock: Clock;
  pid: number;
  series: readonly { device: string; attribute: string[] }[];
  toS: number;
  repeats: number;
  report: Report;
}

async function ask(label: string, count: number, granularity: string, asking: Asking): Promise<void> {
  const { client, clock, pid, series, toS, repeats, report } = asking;
  const tookMs: number[] = [];
  const usedMs = processorMs(pid);
  for (let round = 0; round < repeats; round++) {
    const telemetry = Array.from(
      { length: count },
      (_, index) => series[(round * count + index) % series.length],
    );
    const body = { from: toS - DAY_S, to: toS, granularity, aggregation: 'avg', telemetry };
    const startedMs = clock.monotonicMs();
    await client.text({ method: 'POST', path: '/telemetry/query_timeseries', accept: 'text/csv', body });
    tookMs.push(clock.monotonicMs() - startedMs);
  }
  report(`${label}, first time`, tookMs[0] ?? Number.NaN, 'ms');
  const sorted = tookMs.toSorted((a, b) => a - b);
  report(`${label}, median`, quantile(sorted, 0.5), 'ms');
  report(`${label}, least`, sorted[0] ?? Number.NaN, 'ms');
  report(`${label}, processor time of the gateway`, (processorMs(pid) - usedMs) / repeats, 'ms');
}
