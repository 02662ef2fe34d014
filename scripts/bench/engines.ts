/**
 * The telemetry store beside VictoriaMetrics and InfluxDB, whichever of them is installed: the same values, the same
 * questions. Theirs come and go over HTTP on the loopback, ours without; nothing is installed, what is missing is said.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { openBenchStore } from '../support/telemetry-store.ts';
import { createWorkload, type NumberForm, type Workload } from '../support/workload.ts';

const SEED = 1;
/** Seconds of one request with values. */
const BATCH_S = 60;

interface Parameters {
  devices: number;
  seconds: number;
  /** How often each question is asked. */
  repeats: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'engines',
  describe: 'The telemetry store beside VictoriaMetrics and InfluxDB, where they are installed.',
  small: { devices: 1, seconds: 120, repeats: 2 },
  large: { devices: 10, seconds: 21_600, repeats: 40 },
  seed: SEED,
  run: async (parameters, report) => {
    for (const [name, numbers] of [
      ['W', 'decimal'],
      ['W32', 'single'],
    ] as const) {
      const told: Report = (label, value, unit) => report(`${name}: ${label}`, value, unit);
      await inFolder((folder) => measureOwn(folder, parameters, numbers, told));
      for (const engine of ENGINES)
        await inFolder((folder) => measureOther(engine, folder, parameters, numbers, told));
    }
    return undefined;
  },
};

async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-engines-'));
  try {
    await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measureOwn(
  folder: string,
  { devices, seconds, repeats }: Parameters,
  numbers: NumberForm,
  report: Report,
): Promise<void> {
  const store = await openBenchStore(folder);
  const workload = createWorkload({ seed: SEED, devices, numbers });
  const fromS = workload.nowS + 1;
  const run = await store.replay(workload, seconds, 1, false);
  report('gateway, taken in', (run.values / run.busyMs) * 1_000, 'values/s');
  const tookMs = Array.from(
    { length: repeats },
    (_, round) => store.query([1 + (round % workload.seriesCount)], fromS, fromS + seconds, 60).totalMs,
  );
  report('gateway, one series by 1 min, median', median(tookMs), 'ms');
  const { usedBytes } = await store.replay(workload, 0, 1);
  report('gateway, on disk once the day is over', usedBytes / run.values, 'bytes/value');
  await store.close();
}

/** Another store, as a program with an HTTP interface. */
interface Engine {
  name: string;
  command: string;
  start: (folder: string, port: number) => { args: string[]; env: Record<string, string> };
  ready: string;
  /** Paths that are called once before the first value, and before the size is looked at. */
  prepare: string[];
  settle: string[];
  write: string;
  line: (series: string, device: string, value: string, atS: number) => string;
  question: (series: string, device: string, fromS: number, toS: number) => string;
}

const ENGINES: readonly Engine[] = [
  {
    name: 'VictoriaMetrics',
    command: 'victoria-metrics',
    start: (folder, port) => ({
      args: [
        `-storageDataPath=${folder}`,
        `-httpListenAddr=127.0.0.1:${port}`,
        '-retentionPeriod=100y',
        '-search.disableCache',
      ],
      env: {},
    }),
    ready: '/health',
    prepare: [],
    settle: ['/internal/force_flush', '/internal/force_merge'],
    write: '/api/v1/import/prometheus',
    line: (series, device, value, atS) => `${series}{device="${device}"} ${value} ${atS}000`,
    question: (series, device, fromS, toS) =>
      `/api/v1/query_range?${new URLSearchParams({
        query: `avg_over_time(${series}{device="${device}"}[1m])`,
        start: String(fromS),
        end: String(toS),
        step: '60',
      }).toString()}`,
  },
  {
    name: 'InfluxDB',
    command: 'influxd',
    start: (folder, port) => ({
      args: [],
      env: {
        INFLUXDB_META_DIR: join(folder, 'meta'),
        INFLUXDB_DATA_DIR: join(folder, 'data'),
        INFLUXDB_DATA_WAL_DIR: join(folder, 'wal'),
        INFLUXDB_HTTP_BIND_ADDRESS: `127.0.0.1:${port}`,
        INFLUXDB_BIND_ADDRESS: '127.0.0.1:0',
        INFLUXDB_REPORTING_DISABLED: 'true',
      },
    }),
    ready: '/ping',
    prepare: ['/query?q=CREATE+DATABASE+w'],
    settle: [],
    write: '/write?db=w&precision=s',
    line: (series, device, value, atS) => `${device} ${series}=${value} ${atS}`,
    question: (series, device, fromS, toS) =>
      `/query?${new URLSearchParams({
        db: 'w',
        q: `SELECT mean("${series}") FROM "${device}" WHERE time >= ${fromS}s AND time < ${toS}s GROUP BY time(1m)`,
      }).toString()}`,
  },
];

async function measureOther(
  engine: Engine,
  folder: string,
  { devices, seconds, repeats }: Parameters,
  numbers: NumberForm,
  report: Report,
): Promise<void> {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const { args, env } = engine.start(folder, Number(new URL(origin).port));
  const child = spawn(engine.command, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
  try {
    if (!(await isReady(child, origin + engine.ready))) {
      report(`${engine.name}, ${engine.command} is not installed or does not start`, 'missing');
      return;
    }
    for (const path of engine.prepare) await call(origin + path, '');
    const workload = createWorkload({ seed: SEED, devices, numbers });
    const fromS = workload.nowS + 1;
    const sent = await send(engine, origin, workload, seconds);
    report(`${engine.name}, taken in`, (sent.values / sent.tookMs) * 1_000, 'values/s');
    for (const path of engine.settle) await call(origin + path);
    const series = workload.devices.flatMap(({ index, signals }) =>
      signals.filter(({ form }) => form !== 'state').map(({ name }) => [name, `device_${index}`] as const),
    );
    const tookMs: number[] = [];
    for (let round = 0; round < repeats; round++) {
      const [name, device] = series[round % series.length] ?? ['', ''];
      tookMs.push(await call(origin + engine.question(name, device, fromS, fromS + seconds)));
    }
    report(`${engine.name}, one series by 1 min, median`, median(tookMs), 'ms');
    await ended(child);
    report(`${engine.name}, on disk`, bytesBelow(folder) / sent.values, 'bytes/value');
  } finally {
    await ended(child);
  }
}

/** Numbers and switches; words of a state are no values of theirs. */
async function send(
  engine: Engine,
  origin: string,
  workload: Workload,
  seconds: number,
): Promise<{ values: number; tookMs: number }> {
  const sent = { values: 0, tookMs: 0 };
  let lines: string[] = [];
  for (let second = 1; second <= seconds; second++) {
    workload.tick();
    for (const { index, first, signals } of workload.devices.filter(({ isPresent }) => isPresent))
      for (const [offset, { name }] of signals.entries()) {
        const value = workload.value(first + offset);
        if (typeof value !== 'string')
          lines.push(engine.line(name, `device_${index}`, String(Number(value)), workload.nowS));
      }
    if (second % BATCH_S !== 0 && second !== seconds) continue;
    sent.values += lines.length;
    sent.tookMs += await call(origin + engine.write, `${lines.join('\n')}\n`);
    lines = [];
  }
  return sent;
}

/** Milliseconds until the whole answer was read. @throws Error, when it is none of success */
async function call(url: string, body?: string): Promise<number> {
  const startedMs = performance.now();
  const answer = await fetch(url, body === undefined ? {} : { method: 'POST', body });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${text.slice(0, 200)}`);
  return performance.now() - startedMs;
}

async function isReady(child: ChildProcess, url: string): Promise<boolean> {
  // Without a process it is not installed, and the loop ends.
  child.once('error', () => undefined);
  for (let tries = 0; tries < 300 && child.pid !== undefined && child.exitCode === null; tries++) {
    // It does not listen yet.
    const answer = await fetch(url).catch(() => undefined);
    if (answer?.ok) return true;
    await sleep(100);
  }
  return false;
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  child.kill();
  await new Promise((resolve) => void child.once('exit', resolve));
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => void server.close(resolve));
  return typeof address === 'object' && address ? address.port : 0;
}

function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
