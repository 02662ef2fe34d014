/** A whole gateway whose site grows from one measurement to the next, started anew before each. */
import type { Clock } from '../../src/platform/clock/index.ts';
import type { NamedDevice } from './console-pages.ts';
import { createGatewayClient, type GatewayClient, uploadBlueprint } from './gateway-client.ts';
import {
  anonymousBytes,
  createGatewayHome,
  createTokens,
  type GatewayHome,
  hasBundle,
  NO_RATE_LIMITS,
  processorMs,
  programsOf,
  startGateway,
  untilRested,
} from './gateway-process.ts';
import { publish } from './telemetry-end-to-end.ts';
import type { DeviceLogin, TelemetryLoad, TelemetryLoadFigures } from './telemetry-load-parameters.ts';
import { provisionWorkload } from './workload-blueprints.ts';
import { createWorkload } from './workload.ts';

const SEED = 1;
/** Messages of a device on the way. */
const WINDOW = 20;
/** Times of one import. */
const IMPORT_ROWS = 10_000;

export interface GrowingSite {
  readonly home: GatewayHome;
  readonly clock: Clock;
  readonly client: GatewayClient;
  readonly token: string;
  /** Of workload W, in its order. */
  readonly devices: readonly NamedDevice[];
  readonly slugs: readonly string[];
  /** Devices of workload W that may send. */
  addDevices(count: number): Promise<void>;
  /** Imports what all devices of W measured in the past: messages of devices are taken for some days back only. */
  addHistory(past: { startS: number; seconds: number; stepS: number }): Promise<void>;
  /** All devices of W send once a second, spread over it, until the signal. */
  live(signal: AbortSignal): Promise<TelemetryLoadFigures>;
  /** Resolves with milliseconds from the start of the process until it is healthy. */
  restart(): Promise<number>;
  /** Resolves once the gateway has hardly anything to do. */
  rested(): Promise<void>;
  /** Processor time of all programs of the gateway since they run. */
  usedMs(): number;
  /** Memory of all programs that no file backs. */
  anonymousBytes(): number;
  end(): Promise<void>;
}

export async function startGrowingSite(clock: Clock): Promise<GrowingSite> {
  const made = await createGatewayHome(hasBundle() ? 'bundle' : 'source');
  const home = { ...made, environment: { ...made.environment, ...NO_RATE_LIMITS } };
  let gateway = startGateway(home, clock);
  await gateway.healthy();
  const [token = ''] = await createTokens(home, 'OWNER', 1);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens: [token], clock });
  const logins: DeviceLogin[] = [];
  const devices: NamedDevice[] = [];
  const slugs: string[] = [];
  const load = (): Pick<TelemetryLoad, 'port' | 'logins' | 'seed' | 'devices'> => ({
    port: home.mqttPort,
    logins,
    seed: SEED,
    devices: logins.length,
  });
  const programs = (): number[] => [gateway.pid, ...programsOf(gateway.pid)];
  const usedMs = (): number => sumOf(programs().map(processorMs));
  return {
    home,
    clock,
    client,
    token,
    devices,
    slugs,
    addDevices: async (count) => {
      const workload = createWorkload({ seed: SEED, devices: logins.length + count });
      const added = workload.devices.slice(logins.length);
      const found = await provisionWorkload(client, { devices: added }, (zip) =>
        uploadBlueprint(home.baseUrl, token, zip),
      );
      for (const [place, each] of added.entries()) {
        const login = found[place];
        if (!login) continue;
        logins.push(login);
        devices.push({ id: login.device.id, workload: each });
        slugs.push(login.device.slug);
      }
    },
    addHistory: (past) => importHistory(client, devices, past),
    live: (signal) => {
      const startS = Math.floor(clock.wallMs() / 1_000);
      const live = { window: WINDOW, paceMs: 1_000, isSpread: true, isTimed: true };
      return publish(
        { ...load(), ...live, startS, seconds: Number.MAX_SAFE_INTEGER },
        () => undefined,
        signal,
      );
    },
    restart: async () => {
      await gateway.end('SIGTERM');
      gateway = startGateway(home, clock);
      return gateway.healthy();
    },
    rested: () => untilRested(clock, usedMs),
    usedMs,
    anonymousBytes: () => sumOf(programs().map(anonymousBytes)),
    end: async () => {
      await gateway.end('SIGTERM');
      made.remove();
    },
  };
}

async function importHistory(
  client: GatewayClient,
  devices: readonly NamedDevice[],
  { startS, seconds, stepS }: { startS: number; seconds: number; stepS: number },
): Promise<void> {
  const past = createWorkload({ seed: SEED, devices: devices.length, startS, stepS });
  const names = devices.flatMap(({ id, workload }) =>
    workload.signals.map(({ name }) => `telemetry=${name} device=${id}`),
  );
  const head = ['ts', ...names].join(',');
  const series = names.map((_, index) => index);
  for (let passedS = 0; passedS < seconds;) {
    const lines = [head];
    for (; passedS < seconds && lines.length <= IMPORT_ROWS; passedS += stepS) {
      past.tick();
      lines.push([past.nowS, ...series.map((index) => String(past.value(index)))].join(','));
    }
    await client.text({ method: 'POST', path: '/telemetry/import', csv: `${lines.join('\n')}\n` });
  }
}

const sumOf = (values: readonly number[]): number => values.reduce((sum, value) => sum + value, 0);
