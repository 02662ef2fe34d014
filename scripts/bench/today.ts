/**
 * What everybody opens first, over HTTP, on a whole site: charts of 24 hours to now and the console's own pages, with a day of
 * workload W stored and open samples. No series is asked for twice, because nobody's first chart is in a memory of charts;
 * once the same again, as a page that stays open asks. Processor time of the gateway beside what passes until the whole
 * answer is there; the requests of a page are sent together.
 */
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import {
  chartRequest,
  dayChartRequest,
  energyDayRequests,
  type NamedDevice,
  overviewRequests,
  type SeriesName,
  setEnergySources,
  sparklineRequest,
} from '../support/console-pages.ts';
import {
  createGatewayClient,
  type GatewayClient,
  type GatewayRequest,
  uploadBlueprint,
} from '../support/gateway-client.ts';
import {
  createTokens,
  NO_RATE_LIMITS,
  processorMs,
  untilRested,
  withGateway,
} from '../support/gateway-process.ts';
import { quantile } from '../support/http-load.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload, measuredNames } from '../support/workload.ts';

const SEED = 1;
const DAY_S = 86_400;
const HOUR_S = 3_600;
/** Messages of a device on the way: so many that a commit is never waited for. */
const WINDOW = 200;
/** Devices of a page, one of each kind. */
const KINDS = 5;
const CHART_SERIES = 6;

interface Parameters {
  devices: number;
  /** Stored of each device, up to now. */
  seconds: number;
  /** Charts of each kind. */
  repeats: number;
  /** Of each kind of page. */
  pages: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'today',
  describe:
    'Charts of the last 24 hours and pages of the console over HTTP, no series twice, with a day of workload W.',
  small: { devices: 12, seconds: 300, repeats: 1, pages: 1 },
  large: { devices: 50, seconds: DAY_S, repeats: 16, pages: 3 },
  seed: SEED,
  isApart: true,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    const { devices, seconds } = parameters;
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
        await untilRested(clock, () => processorMs(gateway.pid));
        const site = workload.devices.map((each, index) => ({
          id: logins[index]?.device.id ?? '',
          workload: each,
        }));
        const asking = { client, clock, pid: gateway.pid, toS: startS + seconds, report };
        await askCharts(site, parameters, asking);
        await askPages(site, parameters, asking);
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
  toS: number;
  report: Report;
}

/** Charts of devices of which no page shows anything. */
async function askCharts(
  site: readonly NamedDevice[],
  { devices, repeats, pages }: Parameters,
  asking: Asking,
): Promise<void> {
  const { toS } = asking;
  const take = eachOnce(site.slice(0, devices - 2 * KINDS * pages).flatMap(measuredBy));
  const some = (count: number): SeriesName[][] => Array.from({ length: repeats }, () => take(count));
  const charts = (series: readonly SeriesName[][], lengthS: number, stepS: number): GatewayRequest[][] =>
    series.map((each) => [
      chartRequest(
        each.map((one) => ({ ...one, aggregation: 'avg' })),
        { fromS: toS - lengthS, toS, stepS },
      ),
    ]);
  const single = some(1);
  const again = Array.from({ length: repeats }, () => single[0] ?? []);
  await ask('one series, 24 h by 1 min', charts(single, DAY_S, 60), asking);
  await ask('the same series again', charts(again, DAY_S, 60), asking);
  await ask('ten series, 24 h by 1 min', charts(some(10), DAY_S, 60), asking);
  await ask('one series, 24 h by 1 s', charts(some(1), DAY_S, 1), asking);
  await ask('one series, an hour by 1 s', charts(some(1), HOUR_S, 1), asking);
}

/** Pages of the console, each of other devices: an energy that was computed once is kept for a day. */
async function askPages(
  site: readonly NamedDevice[],
  { devices, pages }: Parameters,
  asking: Asking,
): Promise<void> {
  const { client, toS } = asking;
  const groups = Array.from({ length: 2 * pages }, (_, index) => {
    const from = devices - 2 * KINDS * pages + KINDS * index;
    return site.slice(from, from + KINDS);
  });
  const others = groups.map((group) => group.slice(3));
  const chart = others.map(([device]) => [
    dayChartRequest(device ? measuredBy(device).slice(0, CHART_SERIES) : [], toS),
  ]);
  await ask('page: chart of a day, six lines with bands', chart, asking);
  const lines = others.map(([, device]) => (device ? [sparklineRequest(device, toS)] : []));
  await ask('page: small lines of a device', lines, asking);
  const sources = (of: readonly (readonly NamedDevice[])[]) => (index: number) =>
    setEnergySources(client, of[index] ?? []);
  const [first, second] = [groups.slice(0, pages), groups.slice(pages)];
  const overviews = first.map(() => overviewRequests(site, toS));
  await ask('page: overview', overviews, asking, sources(first));
  const energies = second.map(() => energyDayRequests(toS));
  await ask('page: energy of a day, and of the day before', energies, asking, sources(second));
}

const measuredBy = ({ id, workload }: NamedDevice): SeriesName[] =>
  measuredNames(workload).map((attribute) => ({ device: id, attribute }));

/** Takes so many that were not taken before. @throws Error when there are no more */
function eachOnce(series: readonly SeriesName[]): (count: number) => SeriesName[] {
  let taken = 0;
  return (count) => {
    const found = series.slice(taken, (taken += count));
    if (found.length < count) throw new Error('there are too few series for so many charts');
    return found;
  };
}

/** @param prepare before each page, which is not counted */
async function ask(
  label: string,
  pages: readonly (readonly GatewayRequest[])[],
  { client, clock, pid, report }: Asking,
  prepare: (index: number) => Promise<void> = () => Promise.resolve(),
): Promise<void> {
  const tookMs: number[] = [];
  let usedMs = 0;
  for (const [index, requests] of pages.entries()) {
    await prepare(index);
    const startedMs = clock.monotonicMs();
    const startedUsedMs = processorMs(pid);
    await Promise.all(requests.map((request) => client.text(request)));
    tookMs.push(clock.monotonicMs() - startedMs);
    usedMs += processorMs(pid) - startedUsedMs;
  }
  report(`${label}, first time`, tookMs[0] ?? Number.NaN, 'ms');
  const sorted = tookMs.toSorted((a, b) => a - b);
  report(`${label}, median`, quantile(sorted, 0.5), 'ms');
  report(`${label}, least`, sorted[0] ?? Number.NaN, 'ms');
  report(`${label}, processor time of the gateway`, usedMs / pages.length, 'ms');
}
