/**
 * `npm run power-cut-check`: cuts the power of a simulated disk while telemetry is written, and looks whether
 * everything that was acknowledged is there afterwards.
 */
import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { messageOf } from '../src/lib/errors.ts';
import { UsageError, whole } from './support/arguments.ts';
import { createRandom } from './support/random.ts';
import { secondsStored } from './support/telemetry-read-back.ts';
import type { TelemetryLoad } from './support/telemetry-load-parameters.ts';
import { createWorkload } from './support/workload.ts';

const HELP = `Writes telemetry to a file system of its own, freezes the writer at a random moment, copies the image of
the file system as a power cut would leave it, and reads the copy. Needs root, loop devices and mkfs.ext4.

  npm run --silent power-cut-check -- [options]

  --rounds N  power cuts (default 5; each takes a few seconds)
  --seed N    where the random moments begin (default 1)
`;

const DEVICES = 20;
const IMAGE_BYTES = 192 * 1_048_576;
const WRITING_MS = { least: 700, most: 4_000 };

interface Acknowledged {
  acknowledged: number[];
}

/** @throws UsageError that names what this machine lacks */
function requireDisks(): void {
  const missing = [
    ...(process.getuid?.() === 0 ? [] : ['root']),
    ...(existsSync('/dev/loop-control') ? [] : ['loop devices (/dev/loop-control)']),
    ...['mkfs.ext4', 'mount', 'umount'].filter((tool) => !isInstalled(tool)),
  ];
  if (missing.length > 0)
    throw new UsageError(`The power cannot be cut here, missing: ${missing.join(', ')}.`);
}

function isInstalled(tool: string): boolean {
  const folders = ['/usr/sbin', '/sbin', '/usr/bin', '/bin'];
  return folders.some((folder) => existsSync(join(folder, tool)));
}

/** Runs `work` with the image mounted. @throws Error with what mount says */
async function mounted<Result>(image: string, folder: string, work: () => Promise<Result>): Promise<Result> {
  mkdirSync(folder, { recursive: true });
  const options = { stdio: ['ignore', 'ignore', 'pipe'] as ['ignore', 'ignore', 'pipe'] };
  execFileSync('mount', ['-o', 'loop', image, folder], options);
  try {
    return await work();
  } finally {
    execFileSync('umount', [folder]);
  }
}

function answer<Answer>(from: ChildProcess | Worker): Promise<Answer> {
  return new Promise((resolve, reject) => {
    from.once('error', reject);
    from.once('message', (message: unknown) => resolve(message as Answer));
  });
}

/** Writes until the cut; resolves with the acknowledged messages of each device, after the copy was made. */
async function writeUntilCut(
  folder: string,
  load: Omit<TelemetryLoad, 'port'>,
  writingMs: number,
  copy: () => void,
): Promise<number[]> {
  const entry = join(import.meta.dirname, 'support', 'telemetry-gateway.ts');
  const child = fork(entry, [folder, String(load.seed), String(load.devices), 'often'], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const { port } = await answer<{ port: number }>(child);
  const worker = new Worker(new URL('support/telemetry-load.ts', import.meta.url), {
    workerData: { ...load, port },
  });
  await answer(worker);
  await new Promise((resolve) => {
    setTimeout(resolve, writingMs);
  });
  child.kill('SIGSTOP');
  const told = answer<Acknowledged>(worker);
  worker.postMessage('acknowledged');
  const { acknowledged } = await told;
  copy();
  await worker.terminate();
  child.kill('SIGKILL');
  await exited;
  return acknowledged;
}

async function round(
  folder: string,
  seed: number,
  writingMs: number,
): Promise<{ values: number; lost: number }> {
  const image = join(folder, 'disk.img');
  const cut = join(folder, 'cut.img');
  const mount = join(folder, 'mount');
  writeFileSync(image, '');
  truncateSync(image, IMAGE_BYTES);
  execFileSync('mkfs.ext4', ['-q', '-F', image]);
  const startS = Math.floor(Date.now() / 1_000) - 2 * 86_400;
  const load = { seed, devices: DEVICES, startS, seconds: 86_400, window: 50, paceMs: 1 };
  const acknowledged = await mounted(image, mount, () =>
    writeUntilCut(join(mount, 'data'), load, writingMs, () => copyFileSync(image, cut)),
  );
  const stored = await mounted(cut, mount, () => secondsStored(join(mount, 'data')));
  let values = 0;
  let lost = 0;
  for (const [index, expected] of expectedSeconds(seed, startS, acknowledged).entries()) {
    const found = stored.get(index) ?? new Set<number>();
    values += expected.length * 20;
    lost += expected.filter((second) => !found.has(second)).length;
  }
  return { values, lost };
}

/** The seconds of the messages that were acknowledged: a device's messages are acknowledged in order. */
function expectedSeconds(seed: number, startS: number, acknowledged: readonly number[]): number[][] {
  const workload = createWorkload({ seed, devices: DEVICES, startS });
  const seconds = workload.devices.map((): number[] => []);
  while (seconds.some((list, index) => list.length < (acknowledged[index] ?? 0))) {
    workload.tick();
    for (const device of workload.devices) {
      const list = seconds[device.index];
      if (device.isPresent && list && list.length < (acknowledged[device.index] ?? 0))
        list.push(workload.nowS);
    }
  }
  return seconds;
}

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string' },
      seed: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const rounds = whole('rounds', values.rounds, 1, 1_000) ?? 5;
  const seed = whole('seed', values.seed, 0, 2 ** 31) ?? 1;
  requireDisks();
  const random = createRandom(seed);
  let lost = 0;
  for (let number = 1; number <= rounds; number++) {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-power-cut-'));
    try {
      const writingMs = random.integer(WRITING_MS.least, WRITING_MS.most);
      const result = await round(folder, seed + number, writingMs);
      lost += result.lost;
      console.log(
        `cut ${number} after ${writingMs} ms: ${result.values} values acknowledged, ${result.lost} messages lost`,
      );
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  console.log(lost === 0 ? 'nothing acknowledged was lost' : `${lost} acknowledged messages were lost`);
  return lost === 0 ? 0 : 1;
}

if (import.meta.main) {
  try {
    process.exitCode = await main();
  } catch (error) {
    console.error(messageOf(error));
    process.exitCode = error instanceof UsageError ? 64 : 1;
  }
}
