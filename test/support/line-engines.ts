/** Real servers that take InfluxDB line protocol, each in a folder of its own: VictoriaMetrics and InfluxDB 1. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from './workspace.ts';
import { until } from './until.ts';

export interface LineEngine {
  readonly name: string;
  /** Address of the write call. */
  readonly writeUrl: string;
  /** Values of one attribute of one device, by second, however often they were sent. */
  values(device: string, attribute: string): Promise<Map<number, number>>;
  /** Ends it without a word. */
  kill(): Promise<void>;
  /** Starts it again on the same folder and port. */
  start(): Promise<void>;
}

interface Recipe {
  program: string;
  debianPackage: string;
  arguments: (at: { folder: string; port: number }) => string[];
  readyPath: string;
  writePath: string;
  values: (origin: string, device: string, attribute: string) => Promise<Map<number, number>>;
  prepare?: (origin: string) => Promise<void>;
}

const RECIPES: Readonly<Record<'VictoriaMetrics' | 'InfluxDB', Recipe>> = {
  VictoriaMetrics: {
    program: 'victoria-metrics',
    debianPackage: 'victoria-metrics',
    arguments: ({ folder, port }) => [
      `-storageDataPath=${folder}/data`,
      `-httpListenAddr=127.0.0.1:${port}`,
      '-retentionPeriod=100y',
      '-dedup.minScrapeInterval=1ms',
      '-memory.allowedBytes=200MB',
      '-loggerLevel=ERROR',
    ],
    readyPath: '/health',
    writePath: '/write',
    values: async (origin, device, attribute) => {
      // What was taken in is visible after some seconds unless it is asked to be.
      await fetch(`${origin}/internal/force_flush`);
      const match = encodeURIComponent(`telemetry_${attribute}{device="${device}"}`);
      const answer = await fetch(`${origin}/api/v1/export?match[]=${match}&reduce_mem_usage=0`);
      const found = new Map<number, number>();
      for (const line of (await answer.text()).split('\n').filter((text) => text !== '')) {
        const { values, timestamps } = JSON.parse(line) as { values: number[]; timestamps: number[] };
        for (const [index, atMs] of timestamps.entries()) found.set(atMs / 1_000, values[index] as number);
      }
      return found;
    },
  },
  InfluxDB: {
    program: 'influxd',
    debianPackage: 'influxdb',
    arguments: ({ folder, port }) => {
      const path = join(folder, 'influxdb.conf');
      writeFileSync(
        path,
        `reporting-disabled = true
bind-address = "127.0.0.1:0"
[meta]
dir = "${folder}/meta"
[data]
dir = "${folder}/data"
wal-dir = "${folder}/wal"
query-log-enabled = false
[http]
bind-address = "127.0.0.1:${port}"
log-enabled = false
`,
      );
      return ['run', '-config', path];
    },
    readyPath: '/ping',
    writePath: '/write?db=site',
    prepare: async (origin) => {
      await fetch(`${origin}/query?q=${encodeURIComponent('CREATE DATABASE site')}`, { method: 'POST' });
    },
    values: async (origin, device, attribute) => {
      const q = `SELECT "${attribute}" FROM telemetry WHERE device = '${device}'`;
      const answer = await fetch(`${origin}/query?db=site&epoch=s&q=${encodeURIComponent(q)}`);
      const { results } = (await answer.json()) as {
        results: { series?: { values: [number, number][] }[] }[];
      };
      return new Map(results[0]?.series?.[0]?.values ?? []);
    },
  },
};

export const LINE_ENGINES = Object.keys(RECIPES) as (keyof typeof RECIPES)[];

/** Undefined, and said so, where the program is not installed. */
export async function startLineEngine(
  t: TestContext,
  name: keyof typeof RECIPES,
): Promise<LineEngine | undefined> {
  const recipe = RECIPES[name];
  const port = await freePort();
  const folder = temporaryFolder(t);
  const origin = `http://127.0.0.1:${port}`;
  let child: ReturnType<typeof spawn> | undefined;

  async function kill(): Promise<void> {
    const running = child;
    child = undefined;
    if (!running || running.exitCode !== null) return;
    const ended = new Promise((resolve) => running.once('close', resolve));
    running.kill('SIGKILL');
    await ended;
  }

  async function start(): Promise<boolean> {
    const started = spawn(recipe.program, recipe.arguments({ folder, port }), { stdio: 'ignore' });
    const isMissing = await new Promise<boolean>((resolve, reject) => {
      started.once('spawn', () => resolve(false));
      started.once('error', (error: NodeJS.ErrnoException) =>
        error.code === 'ENOENT' ? resolve(true) : reject(error),
      );
    });
    if (isMissing) return false;
    child = started;
    await until(() =>
      fetch(origin + recipe.readyPath).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    await recipe.prepare?.(origin);
    return true;
  }

  t.after(kill);
  if (!(await start())) {
    t.diagnostic(`${recipe.program} is not installed (package ${recipe.debianPackage}): not asked`);
    return undefined;
  }
  return {
    name,
    writeUrl: origin + recipe.writePath,
    values: (device, attribute) => recipe.values(origin, device, attribute),
    kill,
    start: async () => void (await start()),
  };
}

/** A port of the loopback that nobody listens at now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return port;
}
