/**
 * Bytes that reach the block device under the data folder, with what the file system adds: at rest, with devices that
 * send 20 values every second at QoS 1, and for each start after a kill. The data lies on an ext4 file system of its own, on a loop device in memory.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import { createDataDisk, type DataDisk, missingForDisks } from '../checks/faults/disk.ts';
import type { Benchmark } from '../support/benchmark.ts';
import { createGatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import {
  createGatewayHome,
  createTokens,
  hasBundle,
  startGateway,
  withGateway,
  writtenBytes,
} from '../support/gateway-process.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload } from '../support/workload.ts';

const SEED = 1;
const MIB = 1_048_576;
const SECTOR_BYTES = 512;
const DAY_S = 86_400;
/** Upkeep begins when the gateway serves, and is done by then. */
const READY_MS = 500;

interface Parameters {
  /** From the start until the first measurement. */
  settleS: number;
  /** Measured at rest. */
  restS: number;
  devices: number;
  /** Measured while the devices send. */
  loadS: number;
  /** Kills as soon as the gateway serves, each with a start after it. */
  kills: number;
  /** 1: mounted with `lazytime`. */
  lazytime: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'written',
  describe:
    'Bytes written to the block device, by the gateway and its file system, at rest, with devices and in a crash loop.',
  small: { settleS: 1, restS: 5, devices: 1, loadS: 5, kills: 2, lazytime: 0 },
  large: { settleS: 60, restS: 600, devices: 10, loadS: 300, kills: 20, lazytime: 0 },
  isApart: true,
  seed: SEED,
  run: async (parameters, report) => {
    const missing = missingForDisks();
    if (missing.length > 0) throw new Error(`the bytes cannot be counted without ${missing.join(', ')}`);
    const clock = createSystemClock();
    const base = mkdtempSync(join(tmpdir(), 'written-'));
    const disk = createDataDisk(base, join(base, 'data'));
    try {
      if (parameters.lazytime > 0)
        execFileSync('mount', ['-o', 'remount,lazytime', disk.folder], { stdio: 'inherit' });
      await withGateway({ clock, environment: { GATEWAY_DATA_DIR: disk.folder } }, async (home, { pid }) => {
        const tokens = await createTokens(home, 'OWNER', 1);
        const measure = { disk, pid };
        await clock.sleep(parameters.settleS * 1_000);
        const rest = await writtenDuring(measure, () => clock.sleep(parameters.restS * 1_000));
        const perDay = DAY_S / parameters.restS / MIB;
        report('at rest: written to the block device', rest.deviceBytes * perDay, 'MiB/day');
        report('at rest: of it by the gateway itself', rest.processBytes * perDay, 'MiB/day');
        const { devices, loadS: seconds } = parameters;
        const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
        const logins = await provisionWorkload(client, createWorkload({ seed: SEED, devices }), (zip) =>
          uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
        );
        await clock.sleep(parameters.settleS * 1_000);
        const startS = Math.floor(clock.wallMs() / 1_000);
        const load = {
          port: home.mqttPort,
          logins,
          seed: SEED,
          devices,
          startS,
          seconds,
          window: 20,
          paceMs: 1_000,
        };
        let values = 0;
        const loaded = await writtenDuring(measure, async () => {
          ({ values } = await publish(load));
        });
        const label = `${devices} devices, ${Math.round(values / seconds)} values/s`;
        report(`${label}: written to the block device`, loaded.deviceBytes / values, 'bytes/value');
        report(`${label}: of it by the gateway itself`, loaded.processBytes / values, 'bytes/value');
      });
      const looped = await writtenByKills(disk, parameters.kills, clock);
      report('crash loop: written to the block device', looped / parameters.kills / 1_024, 'KiB/start');
    } finally {
      disk.remove();
      rmSync(base, { recursive: true, force: true });
      clock.close();
    }
    return undefined;
  },
};

interface Measuring {
  disk: DataDisk;
  pid: number;
}

interface Written {
  deviceBytes: number;
  processBytes: number;
}

/** What waits in the memory of the system is written before and after. */
async function writtenDuring({ disk, pid }: Measuring, work: () => Promise<void>): Promise<Written> {
  disk.settle();
  const device = deviceUnder(disk.folder);
  const before = { deviceBytes: deviceBytes(device), processBytes: writtenBytes(pid) };
  await work();
  disk.settle();
  return {
    deviceBytes: deviceBytes(device) - before.deviceBytes,
    processBytes: writtenBytes(pid) - before.processBytes,
  };
}

/** The first start makes the folder and its room, and is not counted; a second one comes after a kill, as all others. */
async function writtenByKills(disk: DataDisk, kills: number, clock: Clock): Promise<number> {
  const made = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  const home = { ...made, environment: { ...made.environment, GATEWAY_DATA_DIR: disk.folder } };
  const startAndKill = async (): Promise<void> => {
    const gateway = startGateway(home, clock);
    try {
      await gateway.healthy();
      await clock.sleep(READY_MS);
    } finally {
      await gateway.end('SIGKILL');
    }
  };
  try {
    for (let start = 0; start < 2; start++) await startAndKill();
    disk.settle();
    const device = deviceUnder(disk.folder);
    const before = deviceBytes(device);
    for (let start = 0; start < kills; start++) await startAndKill();
    disk.settle();
    return deviceBytes(device) - before;
  } finally {
    made.remove();
  }
}

/** Name of the block device that is mounted there. */
function deviceUnder(folder: string): string {
  const mount = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .find((line) => line.split(' ')[1] === folder);
  if (mount === undefined) throw new Error(`nothing is mounted at ${folder}`);
  return basename(mount.split(' ')[0] ?? '');
}

/** Bytes written to the device so far: the seventh field of its statistics, in sectors (Linux, block/stat). */
function deviceBytes(device: string): number {
  const fields = readFileSync(`/sys/block/${device}/stat`, 'utf8').trim().split(/\s+/);
  return Number(fields[6]) * SECTOR_BYTES;
}
