/** Other stores of time series, as programs with an HTTP interface on the loopback; what is not installed is left out. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts, processorMs } from './gateway-process.ts';
import type { Workload } from './workload.ts';

/** Seconds of one request with values. */
const BATCH_S = 60;

/** One series of one device, by their names in the workload. */
export interface NamedSeries {
  device: string;
  attribute: string;
}

/** One question: series from second to second, by means of so many seconds. */
export interface ChartQuestion {
  series: readonly NamedSeries[];
  fromS: number;
  toS: number;
  stepS: number;
}

/** Another store, as a program with an HTTP interface. */
export interface Engine {
  name: string;
  command: string;
  start: (folder: string, port: number) => { args: string[]; env: Record<string, string> };
  ready: string;
  /** Paths that are called once before the first value, and before the size is looked at. */
  prepare: string[];
  settle: string[];
  write: string;
  line: (series: NamedSeries, value: string, atS: number) => string;
  chart: (question: ChartQuestion) => string;
  latest: (device: string) => string;
}

export const ENGINES: readonly Engine[] = [
  {
    name: 'VictoriaMetrics',
    command: 'victoria-metrics',
    start: (folder, port) => ({
      args: [
        `-storageDataPath=${folder}`,
        `-httpListenAddr=127.0.0.1:${port}`,
        '-retentionPeriod=100y',
        '-search.disableCache',
        '-search.maxPointsPerTimeseries=100000',
      ],
      env: {},
    }),
    ready: '/health',
    prepare: [],
    settle: ['/internal/force_flush', '/internal/force_merge'],
    write: '/api/v1/import/prometheus',
    line: ({ device, attribute }, value, atS) => `${attribute}{device="${device}"} ${value} ${atS}000`,
    chart: ({ series, fromS, toS, stepS }) => {
      const each = series.map(
        ({ device, attribute }) => `avg_over_time(${attribute}{device="${device}"}[${stepS}s])`,
      );
      return `/api/v1/query_range?${new URLSearchParams({
        query: each.length === 1 ? (each[0] ?? '') : `union(${each.join(',')})`,
        start: String(fromS),
        end: String(toS),
        step: String(stepS),
      }).toString()}`;
    },
    latest: (device) =>
      `/api/v1/query?${new URLSearchParams({ query: `last_over_time({device="${device}"}[2d])` }).toString()}`,
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
    line: ({ device, attribute }, value, atS) => `${device} ${attribute}=${value} ${atS}`,
    chart: ({ series, fromS, toS, stepS }) =>
      influxQuery(
        series.map(
          ({ device, attribute }) =>
            `SELECT mean("${attribute}") FROM "${device}" WHERE time >= ${fromS}s AND time < ${toS}s GROUP BY time(${stepS}s)`,
        ),
      ),
    latest: (device) => influxQuery([`SELECT last(*) FROM "${device}"`]),
  },
];

const influxQuery = (statements: readonly string[]): string =>
  `/query?${new URLSearchParams({ db: 'w', q: statements.join(';') }).toString()}`;

/** A running engine. */
export interface RunningEngine {
  /** Sends numbers and switches; words of a state are no values of theirs. */
  fill(workload: Workload, seconds: number): Promise<{ values: number; tookMs: number; usedMs: number }>;
  /** Milliseconds until the whole answer was read. @throws Error when it is no success */
  ask(path: string): Promise<number>;
  /** Writes and merges what it still has in memory. */
  settle(): Promise<void>;
  end(): Promise<void>;
}

/** Undefined: it is not installed, or does not start. */
export async function startEngine(engine: Engine, folder: string): Promise<RunningEngine | undefined> {
  const [port = 0] = await freePorts(1);
  const origin = `http://127.0.0.1:${port}`;
  const { args, env } = engine.start(folder, port);
  const child = spawn(engine.command, args, { env: { ...process.env, ...env }, stdio: 'ignore' });
  if (!(await isReady(child, origin + engine.ready))) {
    await ended(child);
    return undefined;
  }
  const pid = child.pid ?? 0;
  for (const path of engine.prepare) await call(origin + path, '');
  return {
    fill: async (workload, seconds) => {
      const usedMs = processorMs(pid);
      const sent = await send(engine, origin, workload, seconds);
      return { ...sent, usedMs: processorMs(pid) - usedMs };
    },
    ask: (path) => call(origin + path),
    settle: async () => {
      for (const path of engine.settle) await call(origin + path);
    },
    end: () => ended(child),
  };
}

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
          lines.push(
            engine.line({ device: `device-${index}`, attribute: name }, String(Number(value)), workload.nowS),
          );
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

/** Bytes of all files below a folder. */
export function bytesBelow(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
