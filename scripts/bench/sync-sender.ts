/**
 * A device that waits for each acknowledgement before it sends the next message, as most libraries do, with a backlog
 * after an outage, beside others that send once a second: its rate, the latency of the others, what is written.
 */
import { readFileSync } from 'node:fs';
import { type Clock, createSystemClock } from '../../src/platform/clock/index.ts';
import type { Benchmark, Report } from '../support/benchmark.ts';
import { type DeviceLink, openDeviceLink } from '../support/device-link.ts';
import { createGatewayClient, uploadBlueprint } from '../support/gateway-client.ts';
import { createTokens, type GatewayHome, withGateway } from '../support/gateway-process.ts';
import { createLatencies } from '../support/latencies.ts';
import type { DeviceLogin } from '../support/telemetry-load-parameters.ts';
import { provisionWorkload } from '../support/workload-blueprints.ts';
import { createWorkload } from '../support/workload.ts';

const SEED = 1;
const HOUR_S = 3_600;
const MEGABYTE = 1_000_000;
const PERIOD_MS = 1_000;

interface Parameters {
  devices: number;
  /** Without the sender, beside its backlog. */
  aloneSeconds: number;
  backlogSeconds: number;
  [name: string]: number;
}

export const benchmark: Benchmark<Parameters> = {
  name: 'sync-sender',
  describe: 'A device with a backlog that waits for each acknowledgement, beside others at 1 Hz.',
  small: { devices: 2, aloneSeconds: 1, backlogSeconds: 1 },
  large: { devices: 50, aloneSeconds: 30, backlogSeconds: 40 },
  isApart: true,
  seed: SEED,
  run: async ({ devices, aloneSeconds, backlogSeconds }, report) => {
    const clock = createSystemClock();
    try {
      await withGateway({ clock }, async (home, { pid }) => {
        const site = await connectDevices(home, clock, devices);
        await measure('without the sender', { ...site, clock, pid, seconds: aloneSeconds }, report);
        const backlog = { ...site, clock, pid, seconds: backlogSeconds, hasSender: true };
        await measure('beside the sender', backlog, report);
        await Promise.all([site.sender, ...site.others].map(({ link }) => link.close(PERIOD_MS)));
      });
    } finally {
      clock.close();
    }
    return undefined;
  },
};

interface ConnectedSite {
  others: readonly SimulatedDevice[];
  sender: SimulatedDevice;
}

interface SimulatedDevice {
  link: DeviceLink;
  /** What it measures in the next second of its own time, as of another one. */
  sample: (atS: number) => Record<string, unknown>;
}

async function connectDevices(home: GatewayHome, clock: Clock, devices: number): Promise<ConnectedSite> {
  const tokens = await createTokens(home, 'OWNER', 2);
  const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
  const startS = Math.floor(clock.wallMs() / 1_000) - HOUR_S;
  // Each of its own: the time of one passes with its messages.
  const workloads = Array.from({ length: devices + 1 }, (_, index) =>
    createWorkload({ seed: SEED + index, devices: 1, startS }),
  );
  const logins = await provisionWorkload(
    client,
    { devices: workloads.flatMap((workload) => workload.devices) },
    (zip) => uploadBlueprint(home.baseUrl, tokens[0] ?? '', zip),
  );
  const [sender, ...others] = await Promise.all(
    logins.map(async (login, index): Promise<SimulatedDevice> => {
      const workload = workloads[index];
      const device = workload?.devices[0];
      if (workload === undefined || device === undefined) throw new Error('there is no such device');
      const link = await connect(login, home.mqttPort, clock);
      const sample = (atS: number): Record<string, unknown> => {
        workload.tick();
        const body = JSON.parse(workload.message(device)) as Record<string, unknown>;
        return { ...body, timestamp: Math.floor(atS) };
      };
      return { link, sample };
    }),
  );
  if (sender === undefined) throw new Error('there is no device');
  return { sender, others };
}

function connect(login: DeviceLogin, mqttPort: number, clock: Clock): Promise<DeviceLink> {
  return new Promise((resolve, reject) => {
    const link = openDeviceLink({
      config: {
        mqttHost: '127.0.0.1',
        mqttPort,
        hardwareId: login.hardwareId,
        channelId: login.channelId,
        credentials: { protocol: 'MQTT', username: login.username, password: login.password },
      },
      clock,
      qos: 1,
      reconnectDelayMs: PERIOD_MS,
      onConnected: () => resolve(link),
      onLost: (reason) => reject(new Error(reason)),
      onCommand: () => undefined,
      onUnreadable: () => undefined,
    });
  });
}

interface Phase extends ConnectedSite {
  clock: Clock;
  pid: number;
  seconds: number;
  hasSender?: boolean;
}

async function measure(title: string, phase: Phase, report: Report): Promise<void> {
  const { clock, pid, seconds } = phase;
  const others = createLatencies();
  const sender = createLatencies();
  const writtenBefore = writtenBytes(pid);
  const startedMs = clock.monotonicMs();
  const endMs = startedMs + seconds * PERIOD_MS;
  const work = phase.others.map(async ({ link, sample }, index) => {
    // Spread over the second, as devices that were not started together.
    await clock.sleep((index * PERIOD_MS) / phase.others.length);
    for (let dueMs = clock.monotonicMs(); dueMs < endMs; dueMs += PERIOD_MS) {
      await clock.sleep(Math.max(0, dueMs - clock.monotonicMs()));
      others.add(await send(link, sample(clock.wallMs() / 1_000), clock));
    }
  });
  if (phase.hasSender) work.push(sendBacklog(phase, endMs, (latencyMs) => sender.add(latencyMs)));
  await Promise.all(work);
  const tookS = (clock.monotonicMs() - startedMs) / 1_000;
  const written = writtenBytes(pid) - writtenBefore;
  if (sender.count > 0) {
    report(`${title}: its backlog`, sender.count / tookS, 'messages/s');
    report(`${title}: its acknowledgement, median`, sender.quantileMs(0.5) ?? 0, 'ms');
    report(`${title}: its acknowledgement, 99 %`, sender.quantileMs(0.99) ?? 0, 'ms');
  }
  report(`${title}: the others, median`, others.quantileMs(0.5) ?? 0, 'ms');
  report(`${title}: the others, 99 %`, others.quantileMs(0.99) ?? 0, 'ms');
  report(`${title}: written to disk`, ((written / tookS) * HOUR_S) / MEGABYTE, 'MB/h');
}

/** Second by second of the last hour, the next one when the one before is acknowledged. */
async function sendBacklog(
  { sender, clock }: Phase,
  endMs: number,
  add: (latencyMs: number) => void,
): Promise<void> {
  for (let atS = clock.wallMs() / 1_000 - HOUR_S; clock.monotonicMs() < endMs; atS += 1)
    add(await send(sender.link, sender.sample(atS), clock));
}

async function send(link: DeviceLink, body: Record<string, unknown>, clock: Clock): Promise<number> {
  const sentMs = clock.monotonicMs();
  await link.publish('telemetry', body);
  return clock.monotonicMs() - sentMs;
}

/** Bytes that the process caused to be written to disks (proc_pid_io(5)). */
function writtenBytes(pid: number): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
}
