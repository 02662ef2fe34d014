/** Days of a simulated box: an hour is lived, something happens to it, and everything is looked at. */
import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { messageOf } from '../../../src/lib/errors.ts';
import type { Problem } from '../world/journal.ts';
import { createRandom } from '../../support/random.ts';
import { SimulationClock } from './clock.ts';
import { takeOverDisk } from './disk.ts';
import { faultByChance } from './faults.ts';
import { SimulatedHouse } from './house.ts';
import { type SimulatedThreads, takeOverThreads } from './threads.ts';

export interface SimulationOptions {
  seed: number;
  days: number;
  say: (line: string) => void;
}

/** What a process that runs for years must not gather. */
export interface Resources {
  heapBytes: number;
  residentBytes: number;
  openFiles: number;
  handles: number;
  timers: number;
}

export interface SimulationReport {
  problems: Problem[];
  faults: ReadonlyMap<string, number>;
  counts: SimulatedHouse['counts'] & { changes: number };
  /** After the first day, and at the end; each just after a start of the gateway. */
  resources: { early: Resources; late: Resources };
}

/** Before both changes of the clocks of a year, and so late that a box hours behind knows that it has the time. */
const FROM_MS = Date.UTC(2026, 2, 1, 5, 17);
const HOUR_MS = 3_600_000;
const DAYS_BETWEEN_LOGINS = 7;
const HOURS_A_DAY = 24;
/** An answer has so many buckets of a second at most. */
const DAYS_BETWEEN_HISTORY = 2;
const PROBLEMS_MAX = 100;
/** Beyond these the process gathers something. */
const GROWTH_MAX: Resources = {
  heapBytes: 32_000_000,
  residentBytes: 160_000_000,
  openFiles: 12,
  handles: 12,
  timers: 8,
};

export async function simulate({ seed, days, say }: SimulationOptions): Promise<SimulationReport> {
  const random = createRandom(seed);
  const clock = new SimulationClock(FROM_MS);
  const disk = await takeOverDisk();
  const threads = takeOverThreads();
  const house = await SimulatedHouse.open(clock, random.fork(1), disk);
  const faults = new Map<string, number>();
  const problems: Problem[] = [];
  let early: Resources | undefined;
  try {
    for (let day = 0; day < days && problems.length < PROBLEMS_MAX; day++) {
      for (let hour = 0; hour < HOURS_A_DAY && problems.length < PROBLEMS_MAX; hour++) {
        const fault = faultByChance(random);
        faults.set(fault.name, (faults.get(fault.name) ?? 0) + 1);
        const found = await judged(() => liveHour(house, threads, fault));
        problems.push(
          ...found.map(({ kind, item }) => ({
            kind,
            item: `day ${day}, hour ${hour}, ${fault.name}: ${item}`,
          })),
        );
      }
      if (day % DAYS_BETWEEN_LOGINS === 0) await house.login();
      if (day % DAYS_BETWEEN_HISTORY === DAYS_BETWEEN_HISTORY - 1 || day === days - 1)
        problems.push(
          ...(await judged(() => house.verifyHistory())).map(({ kind, item }) => ({
            kind,
            item: `day ${day}: ${item}`,
          })),
        );
      if (day === 0) early = await resourcesAfterStart(house);
      if (day % 30 === 29) say(`day ${day + 1}: ${problems.length} problems, ${describe(resources(clock))}`);
    }
    const late = await resourcesAfterStart(house);
    const counts = { ...house.counts, changes: house.people.acknowledgedCount };
    problems.push(...growthOf(early ?? late, late));
    return { problems, faults, counts, resources: { early: early ?? late, late } };
  } finally {
    await house.close();
    disk.restore();
    await threads.restore();
  }
}

/** More than a deadline that is late waits for what has come meanwhile. */
const STANDSTILL_GRACE_MS = 5_000;

async function liveHour(
  house: SimulatedHouse,
  threads: SimulatedThreads,
  fault: { run: (house: SimulatedHouse) => Promise<void> },
): Promise<Problem[]> {
  await house.live();
  await threads.idle();
  await fault.run(house);
  await threads.idle();
  await house.clock.stride(HOUR_MS);
  // After a standstill who is silent has a moment before he counts as gone.
  await house.clock.advance(STANDSTILL_GRACE_MS);
  return house.verifyState();
}

/** An error is a problem like others: the gateway answered nonsense or did not start. */
async function judged(work: () => Promise<Problem[]>): Promise<Problem[]> {
  try {
    return await work();
  } catch (error) {
    return [
      { kind: 'stop', item: error instanceof Error ? (error.stack ?? error.message) : messageOf(error) },
    ];
  }
}

async function resourcesAfterStart(house: SimulatedHouse): Promise<Resources> {
  await house.restart();
  setFlagsFromString('--expose-gc');
  // As V8 does when memory runs out: pages that it only keeps for later are given back, too.
  (runInNewContext('gc') as (how: object) => void)({ type: 'major', flavor: 'last-resort' });
  return resources(house.clock);
}

function resources(clock: SimulationClock): Resources {
  const { heapUsed, rss } = process.memoryUsage();
  return {
    heapBytes: heapUsed,
    residentBytes: rss,
    openFiles: readdirSync('/proc/self/fd').length,
    handles: process.getActiveResourcesInfo().length,
    timers: clock.waiting,
  };
}

export function describe({ heapBytes, residentBytes, openFiles, handles, timers }: Resources): string {
  const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
  return `${megabytes(heapBytes)} heap, ${megabytes(residentBytes)} resident, ${openFiles} files, ${handles} handles, ${timers} timers`;
}

function growthOf(early: Resources, late: Resources): Problem[] {
  return (Object.keys(GROWTH_MAX) as (keyof Resources)[])
    .filter((name) => late[name] - early[name] > GROWTH_MAX[name])
    .map((name) => ({ kind: 'stop', item: `${name} grew from ${early[name]} to ${late[name]}` }));
}
