/** What happens to a simulated box, once every hour. */
import { closeSync, existsSync, openSync, readdirSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../support/random.ts';
import type { SimulatedHouse } from './house.ts';

export interface HourlyFault {
  name: string;
  /** How often, in relation to the others. */
  weight: number;
  run: (house: SimulatedHouse) => Promise<void>;
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const PAGE_BYTES = 4_096;
const ZONES = ['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'UTC'];

export const HOURLY_FAULTS: readonly HourlyFault[] = [
  { name: 'network-loss', weight: 60, run: async (house) => house.cutDevices() },
  {
    name: 'caller-leaves',
    weight: 15,
    run: async ({ gateway, client }) => {
      // Nobody waits for the answer.
      void client.json({ path: '/devices?limit=50' }).catch(() => undefined);
      await gateway.settled(Promise.resolve());
    },
  },
  { name: 'restart', weight: 2, run: (house) => house.restart() },
  { name: 'kill', weight: 3, run: (house) => house.kill() },
  {
    name: 'clock-ahead',
    weight: 8,
    run: async (house) => house.setClock(house.random.pick([90_000, 2 * HOUR_MS, 3 * DAY_MS, 400 * DAY_MS])),
  },
  {
    name: 'clock-behind',
    weight: 8,
    run: async (house) => house.setClock(-house.random.pick([5_000, 90_000, 2 * HOUR_MS, 26 * HOUR_MS])),
  },
  { name: 'clock-set-right', weight: 30, run: async (house) => house.setClock(0) },
  {
    name: 'boot-ahead',
    weight: 0.7,
    run: (house) => house.reboot(house.random.pick([2 * HOUR_MS, 30 * DAY_MS])),
  },
  { name: 'dead-clock', weight: 0.7, run: (house) => house.reboot(HOUR_MS - house.clock.trueMs) },
  { name: 'boot-right', weight: 1, run: (house) => house.reboot(0) },
  { name: 'full-disk', weight: 4, run: (house) => house.withFullDisk() },
  { name: 'failing-syncs', weight: 0.7, run: (house) => house.withFailingSyncs() },
  {
    name: 'damaged-journal',
    weight: 0.5,
    run: (house) => house.kill((dataDir) => damageJournal(dataDir, house.random)),
  },
  {
    name: 'other-time-zone',
    weight: 2,
    run: async ({ client, random }) =>
      void (await client.json({ method: 'PATCH', path: '/site', body: { timezone: random.pick(ZONES) } })),
  },
];

/** By weight. */
export function faultByChance(random: Random): HourlyFault {
  const total = HOURLY_FAULTS.reduce((sum, { weight }) => sum + weight, 0);
  let left = random.between(0, total);
  for (const fault of HOURLY_FAULTS) {
    left -= fault.weight;
    if (left < 0) return fault;
  }
  return HOURLY_FAULTS[0] as HourlyFault;
}

/** A page of a segment becomes zeros: what was in it is lost, and the gateway says so. */
function damageJournal(dataDir: string, random: Random): void {
  const folder = join(dataDir, 'telemetry-journal');
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const segments = names.map((name) => join(folder, name)).filter((path) => statSync(path).size > 0);
  if (segments.length === 0) return;
  const path = random.pick(segments);
  const file = openSync(path, 'r+');
  const page = Math.floor(random.between(0, statSync(path).size) / PAGE_BYTES);
  writeSync(file, Buffer.alloc(PAGE_BYTES), 0, PAGE_BYTES, page * PAGE_BYTES);
  closeSync(file);
}
