/** How the servers of Debian that take InfluxDB line protocol are started in a folder of their own, and what they hold. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface LineEngineProgram {
  program: string;
  debianPackage: string;
  arguments: (at: { folder: string; port: number }) => string[];
  readyPath: string;
  writePath: string;
  /** Values of one attribute of one device, by second, however often they were sent. */
  values: (origin: string, device: string, attribute: string) => Promise<Map<number, unknown>>;
  prepare?: (origin: string) => Promise<void>;
}

const influxdbConfiguration = (folder: string, port: number): string => `reporting-disabled = true
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
`;

/** @param match selector of series, as VictoriaMetrics exports them */
async function exported(origin: string, match: string): Promise<Map<number, number>> {
  // What was taken in is visible after some seconds unless it is asked to be.
  await fetch(`${origin}/internal/force_flush`);
  const answer = await fetch(
    `${origin}/api/v1/export?match[]=${encodeURIComponent(match)}&reduce_mem_usage=0`,
  );
  const found = new Map<number, number>();
  for (const line of (await answer.text()).split('\n').filter((text) => text !== '')) {
    const { values, timestamps } = JSON.parse(line) as { values: number[]; timestamps: number[] };
    for (const [index, atMs] of timestamps.entries()) found.set(atMs / 1_000, values[index] as number);
  }
  return found;
}

export const LINE_ENGINE_PROGRAMS: Readonly<Record<'VictoriaMetrics' | 'InfluxDB', LineEngineProgram>> = {
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
    values: (origin, device, attribute) => exported(origin, `telemetry_${attribute}{device="${device}"}`),
  },
  InfluxDB: {
    program: 'influxd',
    debianPackage: 'influxdb',
    arguments: ({ folder, port }) => {
      const path = join(folder, 'influxdb.conf');
      writeFileSync(path, influxdbConfiguration(folder, port));
      return ['run', '-config', path];
    },
    readyPath: '/ping',
    writePath: '/write?db=site',
    prepare: async (origin) => {
      const q = encodeURIComponent('CREATE DATABASE site');
      const answer = await fetch(`${origin}/query?q=${q}`, { method: 'POST' });
      const said = await answer.text();
      if (!answer.ok || said.includes('"error"')) throw new Error(`InfluxDB makes no database: ${said}`);
    },
    values: async (origin, device, attribute) => {
      const q = `SELECT "${attribute}" FROM telemetry WHERE device = '${device}'`;
      const answer = await fetch(`${origin}/query?db=site&epoch=s&q=${encodeURIComponent(q)}`);
      const { results } = (await answer.json()) as {
        results: { series?: { values: [number, unknown][] }[] }[];
      };
      return new Map(results[0]?.series?.[0]?.values ?? []);
    },
  },
};
