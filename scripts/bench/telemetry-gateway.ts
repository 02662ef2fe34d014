/**
 * Workload W on the whole gateway as `npm start` runs it, with HTTPS, MQTTS and both child programs: first in
 * real time, then as fast as it takes it. Runs the bundle when `npm run build` has made one.
 */
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import {
  createTokens,
  NO_RATE_LIMITS,
  type GatewayHome,
  type GatewayProcess,
  anonymousBytes,
  withGateway,
  writtenBytes,
} from '../support/gateway-process.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import type { DeviceLogin } from '../support/telemetry-load-parameters.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { watchedFigures, watchFlags } from '../support/watched-process.ts';
import { createWorkload, type NumberForm } from '../support/workload.ts';

const SEED = 1;
const MEGABYTE = 1_000_000;
const SAMPLE_MS = 500;
/** Connecting writes to state.db. */
const WARM_UP_MS = 60_000;

interface Parameters {
  devices: number;
  /** Pause after the devices were made: the thread that compiles blueprints stays half a minute. */
  restSeconds: number;
  /** Seconds of the workload at the given pace, then as fast as possible. */
  pacedSeconds: number;
  paceMs: number;
  seconds: number;
  window: number;
  /** 1: W32, with numbers as devices with 32-bit numbers send them. */
  single: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'telemetry-gateway',
  describe:
    'Workload W at QoS 1 through the whole gateway process: memory, event-loop delay, values per second.',
  small: { devices: 3, restSeconds: 0, pacedSeconds: 5, paceMs: 20, seconds: 100, window: 20, single: 0 },
  large: {
    devices: 50,
    restSeconds: 35,
    pacedSeconds: 120,
    paceMs: 1_000,
    seconds: 5_000,
    window: 50,
    single: 0,
  },
  isApart: true,
  seed: SEED,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    const figuresOf = ({ folder }: GatewayHome): string => join(folder, 'figures.jsonl');
    const flags = (home: GatewayHome): readonly string[] => watchFlags(figuresOf(home));
    const work = async (home: GatewayHome, gateway: GatewayProcess): Promise<void> => {
      report('program', relative('.', home.entries.main));
      const watchFile = figuresOf(home);
      const load = await prepare(home, clock, parameters);
      report('anonymous memory when the devices are made', anonymousBytes(gateway.pid) / MEGABYTE, 'MB');
      await clock.sleep(parameters.restSeconds * 1_000);
      report('anonymous memory before the load', anonymousBytes(gateway.pid) / MEGABYTE, 'MB');
      const { devices, pacedSeconds, paceMs, seconds } = parameters;
      const paced = { title: `one second every ${paceMs} ms`, seconds: pacedSeconds, paceMs, lateS: 0 };
      const fast = { title: 'as fast as possible', seconds, paceMs: 0, lateS: 86_400 };
      const numbers: NumberForm = parameters.single > 0 ? 'single' : 'decimal';
      for (const phase of [paced, fast].filter((each) => each.seconds > 0))
        await measure({ ...load, pid: gateway.pid, watchFile, devices, numbers, ...phase }, report);
    };
    try {
      await withGateway({ clock, environment: NO_RATE_LIMITS, flags }, work);
    } finally {
      clock.close();
    }
    return undefined;
  },
};

interface Load {
  clock: Clock;
  logins: readonly DeviceLogin[];
  port: number;
  window: number;
}

async function prepare(home: GatewayHome, clock: Clock, { devices, window }: Parameters): Promise<Load> {
  const tokens = await createTokens(home, 'OWNER', 2);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
  const workload = createWorkload({ seed: SEED, devices });
  const logins = await provisionWorkload(client, workload, (zip) =>
    uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
  );
  return { clock, logins, port: home.mqttPort, window };
}

interface Phase extends Load {
  title: string;
  numbers: NumberForm;
  pid: number;
  watchFile: string;
  devices: number;
  seconds: number;
  paceMs: number;
  /** How far in the past the samples begin. */
  lateS: number;
}

async function measure(phase: Phase, report: Report): Promise<void> {
  const { title, pid, watchFile, devices, numbers, logins, port, window, seconds, paceMs, clock } = phase;
  const memory: number[] = [];
  const before = { cpuMs: 0, writtenBytes: 0 };
  const startS = Math.floor(clock.wallMs() / 1_000) - phase.lateS;
  const load = { port, logins, seed: SEED, numbers, devices, startS, seconds, window, paceMs };
  await watchedFigures(pid, watchFile, clock);
  const watch = clock.setRepeating(SAMPLE_MS, () => void memory.push(anonymousBytes(pid)));
  const warm = { atMs: 0, writtenBytes: 0 };
  let warmUp: { cancel: () => void } | undefined;
  const { values, elapsedMs } = await publish(load, () => {
    before.cpuMs = cpuMs(pid);
    before.writtenBytes = writtenBytes(pid);
    const startedMs = clock.monotonicMs();
    warmUp = clock.setTimer(WARM_UP_MS, () => {
      warm.atMs = clock.monotonicMs() - startedMs;
      warm.writtenBytes = writtenBytes(pid);
    });
  });
  warmUp?.cancel();
  watch.cancel();
  const figures = await watchedFigures(pid, watchFile, clock);
  memory.push(anonymousBytes(pid));
  const usedMs = cpuMs(pid) - before.cpuMs;
  report(`${title}: acknowledged`, (values / elapsedMs) * 1_000, 'values/s');
  report(`${title}: processor time of all threads`, (usedMs * 1e3) / values, 'µs/value');
  report(`${title}: share of one core`, (usedMs / elapsedMs) * 100, '%');
  report(`${title}: written to disk`, (writtenBytes(pid) - before.writtenBytes) / values, 'bytes/value');
  if (warm.atMs > 0 && paceMs > 0)
    report(
      `${title}: written to disk after the first minute`,
      (writtenBytes(pid) - warm.writtenBytes) / (values * (1 - warm.atMs / elapsedMs)),
      'bytes/value',
    );
  report(`${title}: anonymous memory, largest`, Math.max(...memory) / MEGABYTE, 'MB');
  report(`${title}: anonymous memory, at the end`, (memory.at(-1) ?? 0) / MEGABYTE, 'MB');
  report(`${title}: JavaScript heap in use, main thread`, figures.heapUsedBytes / MEGABYTE, 'MB');
  report(`${title}: event-loop delay, median`, figures.delayP50Ms, 'ms');
  report(`${title}: event-loop delay, 99 %`, figures.delayP99Ms, 'ms');
  report(`${title}: event-loop delay, largest`, figures.delayMaxMs, 'ms');
}

/** Processor time of the process so far, by /proc/<pid>/stat in hundredths of a second (proc_pid_stat(5)). */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
