/**
 * Six hours of workload W that VictoriaMetrics missed, sent to it while live W goes on: how fast, and what the devices and
 * the memory of the gateway notice of it. Runs the bundle when `npm run build` has made one.
 */
import { relative } from 'node:path';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { createGatewayClient, type GatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import {
  createTokens,
  freePorts,
  type GatewayHome,
  type GatewayProcess,
  processorMs,
  anonymousBytes,
  withGateway,
} from '../support/gateway-process.ts';
import { createLatencies } from '../support/latencies.ts';
import { publish } from '../support/telemetry-end-to-end.ts';
import type { DeviceLogin } from '../support/telemetry-load-parameters.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload } from '../support/workload.ts';
import { isInstalled, Server, SERVER_PROGRAMS } from '../target-check/programs.ts';

const SEED = 1;
const MEGABYTE = 1_000_000;
const SAMPLE_MS = 250;
const WINDOW = 50;
/** Longer than any phase: it is ended when the phase is over. */
const LIVE_SECONDS_MAX = 86_400;
const ENVIRONMENT = {
  GATEWAY_MQTT_MESSAGES_PER_SECOND: '1000000',
  GATEWAY_MQTT_MESSAGE_BURST: '1000000',
  GATEWAY_MDNS: 'false',
};

interface Parameters {
  devices: number;
  /** Of the workload, which nobody took. */
  missedSeconds: number;
  /** Pause after it was stored, and before anything is measured. */
  restSeconds: number;
  /** Live, before and after the catch-up. */
  quietSeconds: number;
  paceMs: number;
  bytesPerSecondMax: number;
  processorPercentMax: number;
  [name: string]: number;
}

interface TargetStatus {
  state: string;
  sent_samples: number;
  sent_bytes: number;
  lag_samples: number;
}

interface Scene {
  clock: Clock;
  home: GatewayHome;
  gateway: GatewayProcess;
  client: GatewayClient;
  logins: readonly DeviceLogin[];
  parameters: Parameters;
  report: Report;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'catch-up',
  describe: 'VictoriaMetrics gets six hours of W that it missed, beside live W: rate, live latency, memory.',
  small: {
    devices: 3,
    missedSeconds: 200,
    restSeconds: 0,
    quietSeconds: 2,
    paceMs: 100,
    bytesPerSecondMax: 100_000_000,
    processorPercentMax: 50,
  },
  large: {
    devices: 50,
    missedSeconds: 21_600,
    restSeconds: 45,
    quietSeconds: 90,
    paceMs: 1_000,
    bytesPerSecondMax: 100_000_000,
    processorPercentMax: 50,
  },
  seed: SEED,
  run: async (parameters, report) => {
    const recipe = SERVER_PROGRAMS.find(({ name }) => name === 'VictoriaMetrics');
    if (!recipe || !isInstalled(recipe)) {
      report('sent: VictoriaMetrics is not installed (package victoria-metrics)', 0, 'values');
      return undefined;
    }
    const clock = createSystemClock();
    try {
      await withGateway({ clock, environment: ENVIRONMENT }, async (home, gateway) => {
        report('program', relative('.', home.entries.main));
        const [port = 0] = await freePorts(1);
        const server = new Server(recipe, home.folder, port, clock);
        try {
          const scene = await prepare({ clock, home, gateway, parameters, report });
          await measure(scene, server);
        } finally {
          await server.go('kill');
        }
      });
    } finally {
      clock.close();
    }
    return undefined;
  },
};

async function prepare(parts: Omit<Scene, 'client' | 'logins'>): Promise<Scene> {
  const { clock, home, parameters } = parts;
  const tokens = await createTokens(home, 'OWNER', 2);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
  const workload = createWorkload({ seed: SEED, devices: parameters.devices });
  const logins = await provisionWorkload(client, workload, (zip) =>
    uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
  );
  return { ...parts, client, logins };
}

async function measure(scene: Scene, server: Server): Promise<void> {
  const { clock, client, parameters, report } = scene;
  const { missedSeconds, restSeconds, quietSeconds } = parameters;
  const { target } = (await client.json({
    method: 'POST',
    path: '/targets',
    body: {
      name: 'engine',
      kind: 'INFLUXDB',
      enabled: false,
      influxdb: { url: `${server.origin}/write` },
      selection: {
        bytes_per_second_max: parameters.bytesPerSecondMax,
        processor_percent_max: parameters.processorPercentMax,
      },
    },
  })) as { target: { id: string } };
  const missed = await publish({ ...loadOf(scene), paceMs: 0, seconds: missedSeconds });
  report('stored while nobody took it', missed.values, 'values');
  await server.come();
  await clock.sleep(restSeconds * 1_000);
  const before = await live(scene, () => clock.sleep(quietSeconds * 1_000));
  tell(scene, 'without the target', before);
  const path = `/targets/${target.id}`;
  await client.json({ method: 'PATCH', path, body: { enabled: true } });
  const during = await live(scene, () => caughtUp(scene));
  const status = await statusOf(client);
  tell(scene, 'catching up', during);
  report('catching up: rate', (status.sent_samples / during.tookMs) * 1_000, 'values/s');
  report('catching up: bytes for each value', status.sent_bytes / status.sent_samples, 'bytes');
  const usedMs = during.usedMs - (before.usedMs / before.tookMs) * during.tookMs;
  report('catching up: processor time of the gateway', (usedMs * 1_000) / status.sent_samples, 'µs/value');
  const after = await live(scene, () => clock.sleep(quietSeconds * 1_000));
  tell(scene, 'with the target, all sent', after);
  report('latency p99, catching up to all sent', during.p99Ms / after.p99Ms, 'times');
  report('latency p99, catching up to without', during.p99Ms / before.p99Ms, 'times');
  report('memory, catching up more than without', (during.memoryMax - before.memoryMax) / MEGABYTE, 'MB');
}

function loadOf({ home, logins, parameters, clock }: Scene) {
  const { devices, missedSeconds } = parameters;
  const startS = Math.floor(clock.wallMs() / 1_000) - missedSeconds;
  return { port: home.mqttPort, logins, seed: SEED, devices, startS, window: WINDOW };
}

interface Phase {
  p50Ms: number;
  p99Ms: number;
  memoryMax: number;
  tookMs: number;
  /** Of the gateway's processes' main one, all threads. */
  usedMs: number;
}

/** W at its pace until `work` has ended. */
async function live(scene: Scene, work: () => Promise<unknown>): Promise<Phase> {
  const { clock, gateway, parameters } = scene;
  const startS = Math.floor(clock.wallMs() / 1_000);
  const stop = new AbortController();
  let memoryMax = 0;
  const watch = clock.setRepeating(
    SAMPLE_MS,
    () => (memoryMax = Math.max(memoryMax, anonymousBytes(gateway.pid))),
  );
  const load = {
    ...loadOf(scene),
    startS,
    seconds: LIVE_SECONDS_MAX,
    paceMs: parameters.paceMs,
    isTimed: true,
  };
  const sent = publish(load, undefined, stop.signal);
  const [startedMs, usedBeforeMs] = [clock.monotonicMs(), processorMs(gateway.pid)];
  await work();
  const [tookMs, usedMs] = [clock.monotonicMs() - startedMs, processorMs(gateway.pid) - usedBeforeMs];
  stop.abort();
  const { latenciesMs } = await sent;
  watch.cancel();
  const latencies = createLatencies();
  for (const latencyMs of latenciesMs) latencies.add(latencyMs);
  return {
    p50Ms: latencies.quantileMs(0.5) ?? 0,
    p99Ms: latencies.quantileMs(0.99) ?? 0,
    memoryMax: Math.max(memoryMax, anonymousBytes(gateway.pid)),
    tookMs,
    usedMs,
  };
}

async function caughtUp({ client, clock }: Scene): Promise<void> {
  for (;;) {
    const { state, sent_samples: sent, lag_samples: left } = await statusOf(client);
    if (state === 'CURRENT' && sent > 0 && left === 0) return;
    await clock.sleep(SAMPLE_MS);
  }
}

async function statusOf(client: GatewayClient): Promise<TargetStatus> {
  const { targets } = (await client.json({ path: '/targets' })) as { targets: { status: TargetStatus }[] };
  const [target] = targets;
  if (!target) throw new Error('there is no target');
  return target.status;
}

function tell({ report }: Scene, title: string, { p50Ms, p99Ms, memoryMax, tookMs, usedMs }: Phase): void {
  report(`${title}: took`, tookMs / 1_000, 's');
  report(`${title}: live message acknowledged, p50`, p50Ms, 'ms');
  report(`${title}: live message acknowledged, p99`, p99Ms, 'ms');
  report(`${title}: anonymous memory at most`, memoryMax / MEGABYTE, 'MB');
  report(`${title}: share of one core`, (usedMs / tookMs) * 100, '%');
}
