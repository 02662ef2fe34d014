/**
 * What people and devices notice of a slow flash card: every sync takes so much longer, while the owner's programs change
 * something many times a second. Acknowledgements of telemetry, answers, and the changes themselves, beside the same with
 * the disk as it is. Runs the bundle when `npm run build` has made one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import { type PopulatedWorld, populate } from '../clients/world.ts';
import { controlFlags, writeControl } from '../faults/control.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { type GatewayHome, withGateway } from '../support/gateway-process.ts';
import { keepAsking, tellLatencies } from '../support/keep-asking.ts';
import { createLatencies } from '../support/latencies.ts';
import { createRandom } from '../support/random.ts';

const SEED = 1;
const ATTRIBUTES = 20;
const ASK_PAUSE_MS = 50;
/** Longer than the gateway takes to see how slow its disk is. */
const SETTLE_MS = 2_000;

interface Parameters {
  devices: number;
  changesPerSecond: number;
  /** By so much each sync is longer. */
  syncMs: number;
  seconds: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'slow-card',
  describe: 'Acknowledgements, answers and changes while every sync takes long, beside the disk as it is.',
  small: { devices: 2, changesPerSecond: 5, syncMs: 15, seconds: 1 },
  large: { devices: 10, changesPerSecond: 15, syncMs: 15, seconds: 30 },
  isApart: true,
  seed: SEED,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    const folder = mkdtempSync(join(tmpdir(), 'slow-card-'));
    const control = join(folder, 'control.json');
    const setSync = (syncDelayMs: number): void =>
      writeControl(control, { clockOffsetMs: 0, syncDelayMs, plants: [] });
    try {
      setSync(0);
      await withGateway({ clock, flags: () => controlFlags(control) }, async (home) => {
        report('program', relative('.', home.entries.main));
        await measure({ clock, home, setSync, parameters, report });
      });
    } finally {
      rmSync(folder, { recursive: true, force: true });
      clock.close();
    }
    return undefined;
  },
};

interface Terms {
  clock: Clock;
  home: GatewayHome;
  setSync: (syncDelayMs: number) => void;
  parameters: Parameters;
  report: Report;
}

async function measure({ clock, home, setSync, parameters, report }: Terms): Promise<void> {
  let acknowledged = createLatencies();
  const world = await populate({
    home,
    devices: parameters.devices,
    attributes: ATTRIBUTES,
    clock,
    random: createRandom(SEED),
    run: () => 1,
    say: () => undefined,
    onLatency: (latencyMs) => acknowledged.add(latencyMs),
  });
  for (const [title, syncMs] of [
    ['the disk as it is', 0],
    [`syncs ${parameters.syncMs} ms longer`, parameters.syncMs],
  ] as const) {
    setSync(syncMs);
    await clock.sleep(SETTLE_MS);
    acknowledged = createLatencies();
    const { answers, changes } = await useGateway(world, parameters);
    tellLatencies(report, `${title}: acknowledgements`, acknowledged);
    tellLatencies(report, `${title}: answers over HTTP`, answers);
    tellLatencies(report, `${title}: changes`, changes);
    report(`${title}: changes`, changes.count / parameters.seconds, 'per second');
  }
  await Promise.all(world.actors.map((actor) => actor.stop()));
}

/** A person who looks, and programs that change names of devices, each at once with the others. */
async function useGateway(
  { client, clock, actors }: PopulatedWorld,
  { changesPerSecond, seconds }: Parameters,
) {
  const [answers, changes] = [createLatencies(), createLatencies()];
  const stopping = new AbortController();
  const { signal } = stopping;
  const look = (): Promise<unknown> => client.json({ path: '/devices?limit=20' });
  const looking = keepAsking(look, { clock, pauseMs: ASK_PAUSE_MS, latencies: answers, signal });
  const changing: Promise<void>[] = [];
  const change = async (number: number): Promise<void> => {
    const id = actors[number % actors.length]?.device.id ?? '';
    const begunMs = clock.monotonicMs();
    await client.json({ method: 'PATCH', path: `/devices/${id}`, body: { name: `Name ${number}` } });
    changes.add(clock.monotonicMs() - begunMs);
  };
  const beganMs = clock.monotonicMs();
  for (let number = 0; number < changesPerSecond * seconds; number += 1) {
    changing.push(change(number));
    await clock.sleep(Math.max(0, beganMs + ((number + 1) * 1_000) / changesPerSecond - clock.monotonicMs()));
  }
  stopping.abort();
  await Promise.all([looking, ...changing]);
  return { answers, changes };
}
