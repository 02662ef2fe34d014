/**
 * What a site costs as it grows, one thing at a time: devices that send once a second, days stored, consoles open, rules,
 * Modbus devices. Each step starts the gateway anew and measures it under the live load of its devices; the load itself
 * is not counted. Steps of one part compare with each other; those of different parts have other loads.
 */
import { WebSocket } from 'ws';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import {
  chartRequest,
  overviewRequests,
  overviewStream,
  POWER_NOW,
  setEnergySources,
} from '../support/console-pages.ts';
import { addFieldDevices, type FieldDevices, startFieldDevices } from '../support/field-site.ts';
import { inParallel } from '../support/gateway-client.ts';
import { type GrowingSite, startGrowingSite } from '../support/growing-site.ts';
import { quantile } from '../support/http-load.ts';
import { createRule, waitForRule } from '../support/rule-calls.ts';
import { realisticRule } from '../support/rule-scripts.ts';
import { measuredNames } from '../support/workload.ts';

const MIB = 1_048_576;
const DAY_S = 86_400;
const SAMPLE_MS = 1_000;
const CHARTS = 5;
/** What an open overview asks for again and again. */
const POWER_REFRESH_MS = 5_000;
const AT_ONCE = 4;
/** Attributes of a battery of workload W. */
const RULE_READS = { soc: 'soc', power: 'power', temperature: 'cell_temperature_max' };
/** Of the site whose days are counted; each has twenty attributes. */
const STORED_DEVICES = 2;

/** By part its steps; a smaller last step is set by its parameter. */
const STEPS = {
  devices: [50, 200, 1_000],
  days: [1, 30, 365],
  consoles: [1, 20, 100],
  rules: [1, 20, 200],
  modbus: [1, 10, 100],
};
type Part = keyof typeof STEPS;
const PARTS = Object.keys(STEPS) as Part[];

/** The last step of each part; 0 leaves it out. */
type Parameters = Record<Part, number> & {
  /** Of each step, after its warm-up. */
  seconds: number;
  warmUpS: number;
  /** Devices of the site on which consoles and rules are counted. */
  siteDevices: number;
  /** From one stored value of an attribute to the next. */
  storedStepS: number;
  [name: string]: number;
};

export const benchmark: Benchmark<Parameters> = {
  name: 'growth',
  describe: 'Cost of more devices, days, consoles, rules and Modbus devices, on the whole gateway.',
  parts: PARTS,
  small: {
    devices: 2,
    days: 1,
    consoles: 1,
    rules: 1,
    modbus: 1,
    seconds: 1,
    warmUpS: 0,
    siteDevices: 4,
    storedStepS: 600,
  },
  large: {
    devices: 1_000,
    days: 365,
    consoles: 100,
    rules: 200,
    modbus: 100,
    seconds: 20,
    warmUpS: 6,
    siteDevices: 50,
    storedStepS: 120,
  },
  isApart: true,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    try {
      for (const part of PARTS) {
        const last = parameters[part];
        if (last === 0) continue;
        const steps = [...STEPS[part].filter((step) => step < last), last];
        await measurePart(part, steps, { clock, report, ...parameters });
      }
    } finally {
      clock.close();
    }
    return undefined;
  },
};

interface Measuring extends Pick<Parameters, 'seconds' | 'warmUpS' | 'siteDevices' | 'storedStepS'> {
  clock: Clock;
  report: Report;
}

/** What a part adds to the site. */
interface Growth {
  /** Devices of workload W that are there from the beginning. */
  devices: number;
  /** Adds what is missing until there are so many. */
  grow(site: GrowingSite, count: number, before: number): Promise<void>;
  /** What runs while a step is measured. */
  begin?(site: GrowingSite, count: number): Promise<Running>;
  end?(): void;
}

interface Running {
  /** Work done since the last call, by name. */
  done(): Promise<Record<string, number>>;
  end(): void;
}

const NOTHING_BESIDE: Running = { done: () => Promise.resolve({}), end: () => undefined };

async function measurePart(part: Part, steps: readonly number[], measuring: Measuring): Promise<void> {
  const growth = await GROWTHS[part](measuring, steps.at(-1) ?? 0);
  const site = await startGrowingSite(measuring.clock);
  try {
    await site.addDevices(growth.devices);
    let before = 0;
    let baseMs = 0;
    for (const count of [0, ...steps]) {
      await growth.grow(site, count, before);
      const usedMs = await measureStep(part, count, { ...measuring, site, growth });
      if (count === 0) baseMs = usedMs;
      else
        measuring.report(
          `${part} ${count}: processor time a second for each beyond none`,
          (usedMs - baseMs) / count,
          'ms',
        );
      before = count;
    }
  } finally {
    await site.end();
    growth.end?.();
  }
}

/** Resolves with milliseconds of processor time a second. */
async function measureStep(
  part: Part,
  count: number,
  measuring: Measuring & { site: GrowingSite; growth: Growth },
): Promise<number> {
  const { clock, site, growth, seconds, warmUpS, report } = measuring;
  const tell: Report = (label, value, unit) => report(`${part} ${count}: ${label}`, value, unit);
  tell('start until ready', await site.restart(), 'ms');
  const ending = new AbortController();
  const live = site.devices.length > 0 ? site.live(ending.signal) : undefined;
  const running = (await growth.begin?.(site, count)) ?? NOTHING_BESIDE;
  await clock.sleep(warmUpS * 1_000);
  await running.done();
  const bytes: number[] = [];
  const startedMs = clock.monotonicMs();
  const usedBeforeMs = site.usedMs();
  for (let second = 0; second < seconds; second++) {
    await clock.sleep(SAMPLE_MS);
    bytes.push(site.anonymousBytes());
  }
  const passedS = (clock.monotonicMs() - startedMs) / 1_000;
  const usedMs = (site.usedMs() - usedBeforeMs) / passedS;
  tell('processor time a second', usedMs, 'ms');
  tell('anonymous memory, largest', Math.max(...bytes) / MIB, 'MiB');
  for (const [name, times] of Object.entries(await running.done())) tell(`${name} a second`, times / passedS);
  if (live) tell('one series, 24 h by 1 min, median', await chartMs(site), 'ms');
  running.end();
  ending.abort();
  if (live) {
    const { latenciesMs } = await live;
    // Without those of the warm-up.
    const measured = latenciesMs.slice(Math.floor((latenciesMs.length * warmUpS) / (warmUpS + passedS)));
    tell(
      'acknowledgement, 99 %',
      quantile(
        measured.toSorted((a, b) => a - b),
        0.99,
      ),
      'ms',
    );
  }
  return usedMs;
}

/** The median of charts of the last day, each of another series. */
async function chartMs({ client, clock, devices }: GrowingSite): Promise<number> {
  const toS = Math.floor(clock.wallMs() / 1_000);
  const names = devices.flatMap(({ id, workload }) =>
    measuredNames(workload).map((attribute) => ({ device: id, attribute })),
  );
  const tookMs: number[] = [];
  for (const one of names.slice(0, CHARTS)) {
    const startedMs = clock.monotonicMs();
    await client.text(chartRequest([{ ...one, aggregation: 'avg' }], { fromS: toS - DAY_S, toS, stepS: 60 }));
    tookMs.push(clock.monotonicMs() - startedMs);
  }
  return quantile(
    tookMs.toSorted((a, b) => a - b),
    0.5,
  );
}

/** @param last the most that there will be */
const GROWTHS: Record<Part, (measuring: Measuring, last: number) => Growth | Promise<Growth>> = {
  devices: () => ({
    devices: 0,
    grow: (site, count, before) => site.addDevices(count - before),
  }),
  days: ({ clock, storedStepS }) => {
    const nowS = Math.floor(clock.wallMs() / 1_000);
    return {
      devices: STORED_DEVICES,
      // Older days come later: the last one is there in every step.
      grow: async (site, count, before) => {
        if (count === before) return;
        const startS = nowS - count * DAY_S;
        await site.addHistory({ startS, seconds: (count - before) * DAY_S, stepS: storedStepS });
        await site.rested();
      },
    };
  },
  consoles: ({ siteDevices }) => ({
    devices: siteDevices,
    grow: (site, count) => (count === 0 ? setEnergySources(site.client, site.devices) : Promise.resolve()),
    begin: openConsoles,
  }),
  rules: ({ siteDevices }) => ({
    devices: siteDevices,
    grow: addRules,
  }),
  modbus: async (_measuring, last) => {
    const field = await startFieldDevices({ first: 0, count: last });
    return {
      devices: 1,
      grow: (site, count, before) => addModbusDevices(site, field, before, count),
      begin: () => Promise.resolve(countPolls(field)),
      end: () => field.stop(),
    };
  },
};

async function addRules(site: GrowingSite, count: number, before: number): Promise<void> {
  const batteries = site.devices.flatMap(({ workload }, index) =>
    workload.kind === 'battery' ? (site.slugs[index] ?? []) : [],
  );
  const added = Array.from({ length: count - before }, (_, index) => before + index);
  await inParallel(added, AT_ONCE, (index) =>
    createRule(site.client, `rule-${index}`, realisticRule(index, batteries, RULE_READS)),
  );
  if (added.length > 0) await waitForRule(site.client, site.clock, `rule-${count - 1}`);
}

async function addModbusDevices(
  site: GrowingSite,
  field: FieldDevices,
  before: number,
  count: number,
): Promise<void> {
  const addresses = field.ports
    .slice(before, count)
    .map((port) => ({ address: `tcp://127.0.0.1:${port}`, inverterUnit: 1, meterUnit: 2 }));
  if (addresses.length > 0) await addFieldDevices(site.client, site.home, site.token, addresses);
}

function countPolls(field: FieldDevices): Running {
  let known = 0;
  return {
    done: async () => {
      const { length } = await field.polls();
      const polls = length - known;
      known = length;
      return { polls };
    },
    end: () => undefined,
  };
}

/** Overviews of the console: what they ask for when they open, their stream, and what they go on to ask for. */
async function openConsoles(site: GrowingSite, count: number): Promise<Running> {
  const { client, clock, devices, home, token } = site;
  const address = new URL(overviewStream(devices), home.baseUrl.replace(/^http/, 'ws'));
  let messages = 0;
  const opened: { socket: WebSocket; refresh: { cancel: () => void } }[] = [];
  for (let index = 0; index < count; index++) {
    const socket = new WebSocket(address, { headers: { 'X-Service-Auth-Token': token } });
    socket.on('message', () => messages++);
    await new Promise((resolve, reject) => {
      socket.once('open', resolve).once('error', reject);
    });
    const nowS = Math.floor(clock.wallMs() / 1_000);
    await Promise.all(overviewRequests(devices, nowS).map((request) => client.text(request)));
    const refresh = clock.setRepeating(POWER_REFRESH_MS, () => void client.text(POWER_NOW));
    opened.push({ socket, refresh });
  }
  return {
    done: () => {
      const received = messages;
      messages = 0;
      return Promise.resolve({ 'messages received': received });
    },
    end: () => {
      for (const { socket, refresh } of opened) {
        refresh.cancel();
        socket.terminate();
      }
    },
  };
}
