/**
 * Hostile scripts on the whole gateway, a process of its own with its sandbox: how soon each of them is stopped,
 * and what rules beside it and callers of the API notice meanwhile.
 */
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, type GatewayClient } from '../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  hasBundle,
  programOf,
  anonymousBytes,
  startGateway,
} from '../support/gateway-process.ts';
import { quantile } from '../support/http-load.ts';
import { createRule, removeRule, ruleLog, type RuleLogLine, waitUntil } from '../support/rule-calls.ts';
import { type Animal, SCRIPT_ZOO } from '../support/script-zoo.ts';
import { createNeighbour, type Neighbour, type NeighbourSeen } from '../support/zoo-neighbour.ts';

export interface ZooParameters {
  /** Which animals: from this one on, each so many. */
  first: number;
  every: number;
  /** How long each is watched at most; those that are slowed down only never end. */
  watchMs: number;
  quietMs: number;
}

const TOKENS = 4;
const API_PAUSE_MS = 15;
/** Log entries arrive in groups. */
const LOG_DELAY_MS = 1_100;
/** What a rule tells of the last moments of an animal comes so late. */
const REPORT_DELAY_MS = 300;
const RELEASE_MS = 4_000;
const MEGABYTE = 1_000_000;
const SLUG = 'animal';

export const benchmark: Benchmark<ZooParameters> = {
  name: 'zoo',
  describe: 'hostile scripts: when each is stopped, what rules and callers beside it notice',
  small: { first: 3, every: 20, watchMs: 500, quietMs: 500 },
  large: { first: 0, every: 1, watchMs: 2_500, quietMs: 10_000 },
  isApart: true,
  run: runZoo,
};

/** What was noticed while one animal was there. */
interface Seen extends NeighbourSeen {
  animal: Animal;
  stoppedAfterMs: number | undefined;
  /** Sorted. */
  apiMs: readonly number[];
}

async function runZoo({ first, every, watchMs, quietMs }: ZooParameters, report: Report): Promise<undefined> {
  const clock = createSystemClock();
  const made = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  const home = { ...made, environment: { ...made.environment, GATEWAY_BUILT_IN_MODULE: 'false' } };
  const gateway = startGateway(home, clock);
  const sandboxMb = (): number => anonymousBytes(programOf(gateway.pid, 'rule-sandbox')) / MEGABYTE;
  try {
    await gateway.healthy();
    const tokens = await createTokens(home, 'OWNER', TOKENS);
    const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
    const neighbour = await createNeighbour(client, clock);
    const calls = callAllTheTime(client, clock);
    try {
      await reportQuiet({ neighbour, calls, clock }, quietMs, report);
      const beforeMb = sandboxMb();
      const seen: Seen[] = [];
      for (const animal of SCRIPT_ZOO.slice(first).filter((_, index) => index % every === 0)) {
        const noticed = await meet({ client, clock, neighbour, calls }, animal, watchMs);
        seen.push(noticed);
        reportOne(noticed, report);
      }
      reportAll(seen, report);
      await clock.sleep(RELEASE_MS);
      report('sandbox before the first, anonymous memory', beforeMb, 'MB');
      report('sandbox after the last, anonymous memory', sandboxMb(), 'MB');
    } finally {
      await calls.stop();
    }
  } finally {
    await gateway.end('SIGTERM');
    made.remove();
    clock.close();
  }
}

interface Calls {
  /** How long calls took that began between two moments, sorted. */
  between(fromMs: number, toMs: number): number[];
  stop(): Promise<void>;
}

/** Somebody looks at the site all the time. */
function callAllTheTime(client: GatewayClient, clock: Clock): Calls {
  const calls: { atMs: number; tookMs: number }[] = [];
  const stop = new AbortController();
  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      const atMs = clock.wallMs();
      const startedMs = clock.monotonicMs();
      await client.json({ path: '/site' });
      calls.push({ atMs, tookMs: clock.monotonicMs() - startedMs });
      await clock.sleep(API_PAUSE_MS);
    }
  }
  const running = run();
  return {
    between: (fromMs, toMs) =>
      calls
        .filter(({ atMs }) => atMs >= fromMs && atMs <= toMs)
        .map(({ tookMs }) => tookMs)
        .sort((a, b) => a - b),
    stop: async () => {
      stop.abort();
      await running;
    },
  };
}

async function reportQuiet(
  { neighbour, calls, clock }: { neighbour: Neighbour; calls: Calls; clock: Clock },
  quietMs: number,
  report: Report,
): Promise<void> {
  const fromMs = clock.wallMs();
  await clock.sleep(quietMs);
  const toMs = clock.wallMs();
  await clock.sleep(LOG_DELAY_MS);
  const { pausesMs } = await neighbour.between(fromMs, toMs);
  report('nothing hostile: pauses of a rule, p99', quantile(pausesMs, 0.99), 'ms');
  report('nothing hostile: API, p99', quantile(calls.between(fromMs, toMs), 0.99), 'ms');
}

async function meet(
  zoo: { client: GatewayClient; clock: Clock; neighbour: Neighbour; calls: Calls },
  animal: Animal,
  watchMs: number,
): Promise<Seen> {
  const { client, clock, neighbour, calls } = zoo;
  await createRule(client, SLUG, animal.code);
  if (animal.fate === 'alive') await clock.sleep(watchMs);
  const endedMs = clock.wallMs();
  let log: RuleLogLine[] = [];
  await waitUntil(clock, `${animal.animal} says ${String(animal.says)}`, async () => {
    log = await ruleLog(client, SLUG);
    return log.some(({ message }) => animal.says.test(message));
  });
  await removeRule(client, SLUG);
  await clock.sleep(LOG_DELAY_MS);
  const startedMs = momentOf(log, animal, /^rule started$/);
  const saidMs = momentOf(log, animal, animal.says);
  const untilMs = Math.max(animal.fate === 'alive' ? endedMs : saidMs, startedMs) + REPORT_DELAY_MS;
  return {
    ...(await neighbour.between(startedMs, untilMs)),
    animal,
    stoppedAfterMs: animal.fate === 'alive' ? undefined : saidMs - startedMs,
    apiMs: calls.between(startedMs, untilMs),
  };
}

function momentOf(log: readonly RuleLogLine[], { animal }: Animal, pattern: RegExp): number {
  const line = log.find(({ message }) => pattern.test(message));
  if (!line) throw new Error(`${animal} never said ${String(pattern)}`);
  return line.receivedAtMs;
}

function reportOne({ animal, stoppedAfterMs, ...seen }: Seen, report: Report): void {
  const longest = (sorted: readonly number[]): string => (sorted.at(-1) ?? 0).toFixed(0);
  const own =
    seen.backAfterMs === undefined
      ? `the rule beside it paused ${longest(seen.pausesMs)} ms at most`
      : `the rule beside it started again after ${seen.backAfterMs} ms`;
  const label = `${animal.animal}; ${own}, API p99 ${quantile(seen.apiMs, 0.99).toFixed(1)} ms`;
  if (stoppedAfterMs === undefined) report(`${label}; slowed down, not stopped`, '');
  else report(label, stoppedAfterMs, 'ms');
}

function reportAll(all: readonly Seen[], report: Report): void {
  const pooled = (pick: (seen: Seen) => readonly number[]): number[] =>
    all.flatMap(pick).sort((a, b) => a - b);
  const most = (values: readonly (number | undefined)[]): number =>
    Math.max(0, ...values.map((value) => value ?? 0));
  const own = pooled(({ pausesMs }) => pausesMs);
  report('all: stopped after, at most (aim: 1 000)', most(all.map((seen) => seen.stoppedAfterMs)), 'ms');
  report('all: pauses of the rule beside them, p99 (aim: 100)', quantile(own, 0.99), 'ms');
  report('all: pauses of the rule beside them, longest', own.at(-1) ?? 0, 'ms');
  report(
    'all: a rule whose thread was ended is back after, at most',
    most(all.map((s) => s.backAfterMs)),
    'ms',
  );
  report(
    'all: API, p99 (aim: 100)',
    quantile(
      pooled(({ apiMs }) => apiMs),
      0.99,
    ),
    'ms',
  );
  report('all: API, slowest', most(all.map(({ apiMs }) => apiMs.at(-1))), 'ms');
}
