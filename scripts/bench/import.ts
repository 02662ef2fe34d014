/** An import of past telemetry: alone, and beside devices that send live (decision 0020). */
import { createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import {
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  NO_RATE_LIMITS,
  processorMs,
  withGateway,
} from '../support/gateway-process.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import type { TelemetryLoadFigures } from '../support/telemetry-load-parameters.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload, type Workload } from '../support/workload.ts';

const SEED = 1;
const DAY_S = 86_400;

interface Parameters {
  devices: number;
  /** Devices whose history is imported. */
  importedDevices: number;
  /** Seconds of history that one import brings. */
  importedSeconds: number;
  imports: number;
  quietSeconds: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'import',
  describe:
    'An import of past telemetry, alone and beside devices at 1 Hz: values per second, acknowledgements.',
  small: { devices: 2, importedDevices: 1, importedSeconds: 200, imports: 1, quietSeconds: 2 },
  large: { devices: 50, importedDevices: 5, importedSeconds: 20_000, imports: 5, quietSeconds: 20 },
  isApart: true,
  seed: SEED,
  run: async (parameters, report) => {
    const clock = createSystemClock();
    try {
      await withGateway({ clock, environment: NO_RATE_LIMITS }, (home, gateway) =>
        measure(home, gateway, parameters, report),
      );
    } finally {
      clock.close();
    }
    return undefined;
  },
};

async function measure(
  home: GatewayHome,
  { pid }: GatewayProcess,
  { devices, importedDevices, importedSeconds, imports, quietSeconds }: Parameters,
  report: Report,
): Promise<void> {
  const clock = createSystemClock();
  const tokens = await createTokens(home, 'OWNER', 2);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
  const made = createWorkload({ seed: SEED, devices });
  const logins = await provisionWorkload(client, made, (zip) =>
    uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
  );
  const nowS = Math.floor(clock.wallMs() / 1_000);
  const load = { port: home.mqttPort, logins, seed: SEED, devices, startS: nowS, window: 50, paceMs: 1_000 };
  const live = (seconds: number, signal?: AbortSignal): Promise<TelemetryLoadFigures> =>
    publish({ ...load, seconds, isTimed: true }, undefined, signal);

  let endS = nowS - DAY_S;
  const past = createWorkload({ seed: SEED + 1, devices: importedDevices });
  const ids = logins.map(({ device }) => device.id);
  const runImports = async (): Promise<{ values: number; elapsedMs: number; usedMs: number }> => {
    const sum = { values: 0, elapsedMs: 0, usedMs: 0 };
    for (let count = 0; count < imports; count++) {
      endS -= importedSeconds;
      const csv = csvOf(past, ids, endS, importedSeconds);
      const usedMs = processorMs(pid);
      const startedMs = clock.monotonicMs();
      sum.values += await importOf(home, tokens[0] ?? '', csv);
      sum.elapsedMs += clock.monotonicMs() - startedMs;
      sum.usedMs += processorMs(pid) - usedMs;
    }
    return sum;
  };

  reportLive('quiet', await live(quietSeconds), report);
  reportImports('alone', await runImports(), report);
  const ending = new AbortController();
  const beside = live(3_600, ending.signal);
  await clock.sleep(3_000);
  reportImports('beside devices', await runImports(), report);
  ending.abort();
  reportLive('beside imports', await beside, report);
  clock.close();
}

function reportImports(
  title: string,
  { values, elapsedMs, usedMs }: { values: number; elapsedMs: number; usedMs: number },
  report: Report,
): void {
  report(`${title}: imported`, (values / elapsedMs) * 1_000, 'values/s');
  report(`${title}: processor time of all threads`, (usedMs * 1e3) / values, 'µs/value');
}

function reportLive(title: string, { latenciesMs }: TelemetryLoadFigures, report: Report): void {
  const sorted = latenciesMs.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? 0;
  report(`${title}: acknowledgement, median`, at(0.5), 'ms');
  report(`${title}: acknowledgement, 99 %`, at(0.99), 'ms');
  report(`${title}: acknowledgement, largest`, at(1), 'ms');
}

/** The history of the devices as a time series query answers it. */
function csvOf(workload: Workload, ids: readonly string[], startS: number, seconds: number): string {
  const columns = workload.devices.flatMap((device) =>
    device.signals.map((signal, at) => ({ device, signal, at })),
  );
  const head = columns.map(({ device, signal }) => `device=${ids[device.index]} telemetry=${signal.name}`);
  const lines = [['ts', ...head].join(',')];
  for (let second = 0; second < seconds; second++) {
    workload.tick();
    const cells = columns.map(({ device, at }) => workload.value(device.first + at));
    lines.push([startS + second, ...cells].join(','));
  }
  return lines.join('\n');
}

async function importOf({ baseUrl }: GatewayHome, token: string, csv: string): Promise<number> {
  const answer = await fetch(`${baseUrl}/v3/telemetry/import`, {
    method: 'POST',
    headers: { 'X-Service-Auth-Token': token, 'Content-Type': 'text/csv' },
    body: csv,
  });
  const body = await answer.text();
  if (answer.status !== 200)
    throw new Error(`the import was answered ${answer.status}: ${body.slice(0, 500)}`);
  return (JSON.parse(body) as { import: { values: number } }).import.values;
}
