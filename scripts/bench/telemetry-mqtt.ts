/**
 * Telemetry from the socket to the disk: workload W at QoS 1 through the broker, checked against the manifests,
 * acknowledged after the sync. The gateway's part is a process of its own, the load a thread of this one.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { runEndToEnd } from '../support/telemetry-end-to-end.ts';

const SEED = 1;

interface Parameters {
  devices: number;
  /** Seconds of the workload sent as fast as possible, and at the given pace. */
  seconds: number;
  pacedSeconds: number;
  paceMs: number;
  window: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'telemetry-mqtt',
  describe: 'Workload W at QoS 1 through broker, checks, synced journal and store.',
  small: { devices: 2, seconds: 10, pacedSeconds: 5, paceMs: 5, window: 20 },
  large: { devices: 50, seconds: 10_000, pacedSeconds: 60, paceMs: 1_000, window: 50 },
  isApart: true,
  seed: SEED,
  run: async (parameters, report) => {
    const fast = await measure('as fast as possible', parameters, parameters.seconds, 0, report);
    const paced = await measure(
      `one second every ${parameters.paceMs} ms`,
      parameters,
      parameters.pacedSeconds,
      parameters.paceMs,
      report,
    );
    return `${fast} ${paced}`;
  },
};

async function measure(
  title: string,
  { devices, window }: Parameters,
  seconds: number,
  paceMs: number,
  report: Report,
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-telemetry-'));
  try {
    // Late enough for a replay, but not too late to be stored.
    const startS = Math.floor(Date.now() / 1_000) - 2 * 86_400;
    const figures = await runEndToEnd(folder, { seed: SEED, devices, startS, seconds, window, paceMs });
    report(`${title}: acknowledged`, (figures.values / figures.elapsedMs) * 1_000, 'values/s');
    report(`${title}: gateway, all threads`, (figures.cpuMs * 1e3) / figures.values, 'µs/value');
    report(`${title}: written to disk`, figures.writtenBytes / figures.values, 'bytes/value');
    report(`${title}: largest memory of the gateway`, figures.rssBytes / 1_048_576, 'MiB');
    report(`${title}: newest values of all series, best of 20`, figures.latestMs, 'ms');
    report(`${title}: event-loop delay, 99 %`, figures.delayP99Ms, 'ms');
    report(`${title}: event-loop delay, largest`, figures.delayMaxMs, 'ms');
    return `${figures.received} of ${figures.values} values`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
