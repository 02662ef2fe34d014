/**
 * Child process: broker and telemetry, from the socket to the synced journal and the blocks, with devices made
 * of the workload's manifests. Tells its port, and its figures when asked.
 */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../src/platform/files/index.ts';
import type { CompiledManifest } from '../../src/capabilities/blueprints/index.ts';
import type { Device, DeviceEvents, Devices } from '../../src/capabilities/devices/index.ts';
import { Telemetry, ThreadedHistory } from '../../src/capabilities/telemetry/index.ts';
import { Emitter } from '../../src/lib/emitter.ts';
import { LIMITS } from '../../src/lib/limits.ts';
import { createSystemClock } from '../../src/platform/clock/index.ts';
import { createLog } from '../../src/platform/log/index.ts';
import { createMetrics } from '../../src/platform/metrics/index.ts';
import { MqttBroker } from '../../src/platform/mqtt/index.ts';
import { programEntry } from '../../src/platform/processes/index.ts';
import { openDatabase } from '../../src/platform/sqlite/index.ts';
import { parseExactJson } from '../../src/lib/json.ts';
import { attributeTypeOf, createWorkload } from './workload.ts';

function tell(message: Record<string, number>): void {
  if (process.send) process.send(message);
}

const [folder = '', seed = '1', deviceCount = '50', sealing = 'seldom'] = process.argv.slice(2);
const NO_LIMIT = 1_000_000_000;
const MIGRATIONS_DIR = packagePath('migrations', 'history');

const clock = createSystemClock();
const metrics = createMetrics();
const log = createLog({ level: 'warn', format: 'text', clock, write: (text) => process.stderr.write(text) });

function createDevices(): { devices: Devices; byHardwareId: Map<string, Device> } {
  const all: Device[] = [];
  const manifests = new Map<string, CompiledManifest>();
  const byHardwareId = new Map<string, Device>();
  for (const { index, hardwareId, signals } of createWorkload({
    seed: Number(seed),
    devices: Number(deviceCount),
  }).devices) {
    const device: Device = {
      id: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
      slug: `device-${index}`,
      name: `Device ${index}`,
      type: 'STANDALONE',
      blueprintId: '',
      communication: { type: 'MQTT_V1_PLAINTEXT', hardwareId, channelId: 'ucm' },
      createdAtMs: 0,
      updatedAtMs: 0,
    };
    all.push(device);
    byHardwareId.set(hardwareId, device);
    manifests.set(device.id, {
      blueprint_spec: 'device_compiled/3.0',
      display_name: '',
      implements: [],
      properties: {},
      telemetry: Object.fromEntries(
        signals.map((signal) => [
          signal.name,
          {
            type: attributeTypeOf(signal),
            display_name: signal.name,
            access_level: 'readonly' as const,
            implements: [],
            aliases: [],
            ...(signal.form === 'state' && { enum: [...signal.words] }),
          },
        ]),
      ),
      alerts: {},
      commands: {},
      configuration: {},
    });
  }
  const find = (id: string): Device | undefined => all.find((device) => device.id === id);
  const refuse = (): never => {
    throw new Error('not part of this benchmark');
  };
  const devices: Devices = {
    events: new Emitter<DeviceEvents>({ error: refuse }),
    get: find,
    find,
    require: (id) => find(id) ?? refuse(),
    all: () => all,
    atAddress: refuse,
    mayForget: () => false,
    manifest: (device) => manifests.get(device.id) ?? refuse(),
    connectivity: () => 'ONLINE',
    setConnectivity: refuse,
    properties: () => ({}),
    raisedAlertNames: () => [],
    atHardware: () => [],
  };
  return { devices, byHardwareId };
}

const { devices, byHardwareId } = createDevices();
const databasePath = join(folder, 'history.db');
const journalFolder = join(folder, 'journal');
openDatabase({ path: databasePath, migrationsDir: MIGRATIONS_DIR, clock, log }).close();
const telemetry = new Telemetry({
  history: new ThreadedHistory({
    entry: programEntry('telemetry-store/engine/thread'),
    databasePath,
    migrationsDir: MIGRATIONS_DIR,
    journalFolder,
    ...(sealing === 'often' && { openSamples: 20_000 }),
    policy: { sampleDays: 400, minuteDays: 800, quarterDays: 4_000, sampleDaysOf: {}, sizeMaxBytes: 8e9 },
    clock,
    log,
    metrics,
    limits: LIMITS.telemetry,
  }),
  journalFolder,
  clock,
  log,
  metrics,
  devices,
  connectivity: { handle: () => undefined },
  site: () => ({ id: '', name: '', timezone: 'UTC' }),
});
// As in the gateway, where rules and streams listen.
let received = 0;
telemetry.events.on('telemetry_received', 'benchmark', ({ values }) => {
  received += values.size;
});
await telemetry.start();

const broker = await MqttBroker.create({
  clock,
  log,
  metrics,
  host: '127.0.0.1',
  port: 0,
  limits: { messagesPerSecond: NO_LIMIT, messageBurst: NO_LIMIT },
  hooks: {
    authenticate: async ({ username }) => (username === undefined ? 'not_authorized' : { key: username }),
    mayPublish: (identity, topic) => topic.startsWith(`v1/from/${identity.key}/`),
    maySubscribe: () => false,
    onMessage: ({ session, payload, receivedAtMs }) => {
      const device = byHardwareId.get(session.identity.key);
      if (!device) return undefined;
      const body = parseExactJson(payload.toString('utf8')) as Record<string, unknown>;
      return telemetry.handle({ device, body, receivedAtMs });
    },
    onSessionOpened: () => undefined,
    onSessionClosed: () => undefined,
  },
});
const { port } = await broker.start();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let rssMax = 0;
let commits = 0;
const watch = clock.setRepeating(250, () => {
  rssMax = Math.max(rssMax, process.memoryUsage().rss);
});

function writtenBytes(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1] ?? 0);
}
/** Milliseconds for the newest values of all devices. */
function latestMs(): number {
  const wanted = new Map(
    devices.all().map((device) => [device.id, Object.keys(devices.manifest(device).telemetry)]),
  );
  const startedMs = performance.now();
  telemetry.latestOfDevices(wanted, 365 * 86_400_000, 'SYSTEM');
  return performance.now() - startedMs;
}

const writtenAtStart = writtenBytes();

process.on('message', (message) => {
  if (message === 'figures')
    void metrics.text().then((text) => {
      commits = Number(/^gateway_telemetry_commits_total (\d+)/m.exec(text)?.[1] ?? 0);
      tell({
        received,
        latestMs: Math.min(...Array.from({ length: 20 }, latestMs)),
        commits,
        rssBytes: rssMax,
        delayP99Ms: delay.percentile(99) / 1e6 - 1,
        delayMaxMs: delay.max / 1e6 - 1,
        writtenBytes: writtenBytes() - writtenAtStart,
        cpuMs: process.cpuUsage().user / 1e3 + process.cpuUsage().system / 1e3,
      });
    });
  if (message === 'stop') void stop();
});

async function stop(): Promise<void> {
  watch.cancel();
  await broker.stop();
  await telemetry.stop();
  clock.close();
  if (process.disconnect) process.disconnect();
}
tell({ port });
