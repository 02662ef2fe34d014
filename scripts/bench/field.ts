/**
 * Half of the field devices of a gateway fall into a black hole and come back: what the other half notices, how
 * long it takes until they are polled again, and whether anything was stored that no device said.
 */
import { join } from 'node:path';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { hasPseudoTerminals } from '../simulate/pseudo-terminal.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import type { Poll } from '../support/field-devices.ts';
import {
  type FieldAddress,
  type FieldDevices,
  startFieldDevices,
  startFieldSite,
} from '../support/field-site.ts';
import {
  pollIntervalsMs,
  returnsMs,
  type StoredValue,
  storedValues,
  untrueValues,
} from '../support/field-stored.ts';
import type { GatewayClient } from '../support/gateway-client.ts';
import { createGatewayHome, hasBundle, processorMs, anonymousBytes } from '../support/gateway-process.ts';

interface Parameters {
  /** With a TCP connection each: half of them live, a quarter mute, a quarter deaf. */
  devices: number;
  /** On one serial line: half of them silent. */
  serialDevices: number;
  warmUpS: number;
  beforeS: number;
  holeS: number;
  afterS: number;
  [name: string]: number;
}

/** On a serial line it takes a while until the silent ones are known. */
const ONSET_MS = 3_000;

export const benchmark: Benchmark<Parameters> = {
  name: 'field',
  describe: 'Half of the Modbus devices black-holed, on TCP and on a shared serial line, and back again.',
  small: { devices: 4, serialDevices: 2, warmUpS: 1, beforeS: 2, holeS: 4, afterS: 5 },
  large: { devices: 50, serialDevices: 8, warmUpS: 8, beforeS: 30, holeS: 40, afterS: 30 },
  isApart: true,
  run: async (given, report) => {
    const serialDevices = hasPseudoTerminals() ? given.serialDevices : 0;
    if (serialDevices === 0) report('the serial line is left out', 'socat is not installed');
    const parameters = { ...given, serialDevices };
    const clock = createSystemClock();
    const made = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
    const serialPath = join(made.folder, 'rs485');
    const home = {
      ...made,
      environment: { ...made.environment, GATEWAY_SERIAL_PORTS: `rs485=${serialPath}:19200:8N1` },
    };
    const groups = await startGroups(parameters, serialPath);
    try {
      const site = await startFieldSite(home, clock, groups.addresses);
      try {
        await measure({ parameters, report, clock, groups, ...site });
      } finally {
        await site.stop();
      }
    } finally {
      groups.stop();
      home.remove();
      clock.close();
    }
    return undefined;
  },
};

interface Groups {
  addresses: FieldAddress[];
  /** Numbers of devices. */
  live: ReadonlySet<number>;
  mute: ReadonlySet<number>;
  deaf: ReadonlySet<number>;
  liveOnLine: ReadonlySet<number>;
  silentOnLine: ReadonlySet<number>;
  polls: () => Promise<Poll[]>;
  /** Resolves with the ports that still take connections, of the deaf ones. */
  blackHole: (clock: ReturnType<typeof createSystemClock>) => Promise<number>;
  comeBack: () => void;
  stop: () => void;
}

async function startGroups({ devices, serialDevices }: Parameters, serialPath: string): Promise<Groups> {
  const quarter = Math.floor(devices / 4);
  const counts = [devices - 2 * quarter, quarter, quarter];
  const started: FieldDevices[] = [];
  const sets: ReadonlySet<number>[] = [];
  let first = 0;
  for (const count of counts) {
    started.push(await startFieldDevices({ first, count }));
    sets.push(numbers(first, count));
    first += count;
  }
  const line =
    serialDevices > 0 ? await startFieldDevices({ first, count: serialDevices, serialPath }) : undefined;
  const groups = line ? [...started, line] : started;
  const silentCount = Math.floor(serialDevices / 2);
  const liveOnLine = numbers(first, serialDevices - silentCount);
  const silentOnLine = numbers(first + liveOnLine.size, silentCount);
  const [, mute, deaf] = started;
  const none = new Set<number>();
  return {
    addresses: [
      ...started.flatMap(({ ports }) =>
        ports.map((port) => ({ address: `tcp://127.0.0.1:${port}`, inverterUnit: 1, meterUnit: 2 })),
      ),
      ...[...numbers(1, serialDevices)].map((unit) => ({
        address: 'port://rs485',
        inverterUnit: unit,
        meterUnit: unit + 100,
      })),
    ],
    live: sets[0] ?? none,
    mute: sets[1] ?? none,
    deaf: sets[2] ?? none,
    liveOnLine,
    silentOnLine,
    polls: async () => (await Promise.all(groups.map((group) => group.polls()))).flat(),
    blackHole: async (clock) => {
      mute?.fallSilent([]);
      line?.fallSilent([...silentOnLine]);
      return (await deaf?.freeze(clock)) ?? 0;
    },
    comeBack: () => {
      mute?.speak();
      line?.speak();
      deaf?.thaw();
    },
    stop: () => {
      for (const group of groups) group.stop();
    },
  };
}

function numbers(first: number, count: number): Set<number> {
  return new Set(Array.from({ length: count }, (_, index) => first + index));
}

interface Site {
  parameters: Parameters;
  report: Report;
  clock: ReturnType<typeof createSystemClock>;
  groups: Groups;
  client: GatewayClient;
  modulePid: number;
  deviceIds: readonly string[];
}

/** What was seen, and the moments between which. */
interface Seen {
  report: Report;
  groups: Groups;
  polls: readonly Poll[];
  stored: readonly StoredValue[];
  beginMs: number;
  holeMs: number;
  backMs: number;
}

async function measure(site: Site): Promise<void> {
  const { parameters, report, clock, groups, client, modulePid, deviceIds } = site;
  await clock.sleep(parameters.warmUpS * 1_000);
  const beginMs = clock.wallMs();
  const usedMs = processorMs(modulePid);
  await clock.sleep(parameters.beforeS * 1_000);
  const holeMs = clock.wallMs();
  const usedInHoleMs = processorMs(modulePid);
  const stillOpen = await groups.blackHole(clock);
  if (stillOpen > 0) throw new Error(`${stillOpen} frozen ports still take connections`);
  await clock.sleep(parameters.holeS * 1_000);
  const alarmed = await alarmedDevices(client, deviceIds);
  const backMs = clock.wallMs();
  const usedAfterMs = processorMs(modulePid);
  groups.comeBack();
  await clock.sleep(parameters.afterS * 1_000);
  const polls = await groups.polls();
  const stored = await storedValues(client, clock, deviceIds, beginMs - 60_000);

  const seen: Seen = { report, groups, polls, stored, beginMs, holeMs, backMs };
  reportIntervals(seen, groups.live, 'live on TCP');
  if (groups.liveOnLine.size > 0) reportIntervals(seen, groups.liveOnLine, 'live on the line');
  reportReturns(seen);
  reportTruth(seen, alarmed);
  report('module, share of one core before', ((usedInHoleMs - usedMs) / (holeMs - beginMs)) * 100, '%');
  report('module, share of one core during', ((usedAfterMs - usedInHoleMs) / (backMs - holeMs)) * 100, '%');
  report('module, anonymous memory', anonymousBytes(modulePid) / 1_048_576, 'MiB');
}

function reportIntervals(seen: Seen, devices: ReadonlySet<number>, title: string): void {
  const { report, polls, beginMs, holeMs, backMs } = seen;
  for (const [when, fromMs, toMs] of [
    ['before', beginMs, holeMs],
    ['during', holeMs, backMs],
    ['during, after its first seconds', holeMs + ONSET_MS, backMs],
  ] as const) {
    const sorted = pollIntervalsMs(polls, devices, fromMs, toMs);
    report(`${devices.size} ${title}, polls ${when}, median`, quantile(sorted, 0.5), 'ms');
    report(`${devices.size} ${title}, polls ${when}, 99 %`, quantile(sorted, 0.99), 'ms');
    report(`${devices.size} ${title}, polls ${when}, longest`, sorted.at(-1) ?? 0, 'ms');
  }
}

function reportReturns({ report, groups, polls, stored, backMs }: Seen): void {
  for (const [title, devices] of [
    ['took connections and said nothing', groups.mute],
    ['answered no SYN', groups.deaf],
    ['silent on the line', groups.silentOnLine],
  ] as const) {
    if (devices.size === 0) continue;
    const times = returnsMs(polls, stored, devices, backMs);
    report(`${devices.size} ${title}: back, median`, quantile(times, 0.5) / 1_000, 's');
    report(`${devices.size} ${title}: back, last`, (times.at(-1) ?? 0) / 1_000, 's');
  }
}

function reportTruth({ report, groups, polls, stored, holeMs, backMs }: Seen, alarmed: number[]): void {
  const gone = new Set([...groups.mute, ...groups.deaf, ...groups.silentOnLine]);
  const inHole = stored.filter(
    ({ device, atS }) => gone.has(device) && atS * 1_000 > holeMs + 1_000 && (atS + 1) * 1_000 < backMs,
  );
  report('stored values', stored.length);
  report('of them zero', stored.filter(({ value }) => value === 0).length);
  report('of them not said by the device at that time', untrueValues(stored, polls).length);
  report('of them from inside the hole', inHole.length);
  const withAlert = alarmed.filter((device) => gone.has(device)).length;
  report(`devices of ${gone.size} with the alert communication_failed`, withAlert);
  report('other devices with it', alarmed.length - withAlert);
}

async function alarmedDevices(client: GatewayClient, deviceIds: readonly string[]): Promise<number[]> {
  const { devices } = (await client.json({ path: '/devices?limit=1000&expand=raised_alert_names' })) as {
    devices: { id: string; raised_alert_names?: string[] }[];
  };
  return devices
    .filter(({ raised_alert_names: names }) => names?.includes('communication_failed'))
    .map(({ id }) => deviceIds.indexOf(id));
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
