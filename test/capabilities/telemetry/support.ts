/** A telemetry capability with real journal files and store, and devices made of a manifest. */
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { Emitter } from '../../../src/lib/emitter.ts';
import type { CompiledAttribute, CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';
import type { DeviceMessageHandler } from '../../../src/capabilities/connectivity/index.ts';
import type { Device, DeviceEvents, Devices } from '../../../src/capabilities/devices/index.ts';
import {
  Telemetry,
  ThreadedHistory,
  type RetentionPolicy,
  type TelemetryEvents,
} from '../../../src/capabilities/telemetry/index.ts';
import { TimeSeriesQuery } from '../../../src/capabilities/telemetry/schema.ts';
import type { JournalFiles } from '../../../src/telemetry-store/journal/index.ts';
import { LIMITS, type Limits } from '../../../src/lib/limits.ts';
import type { Role } from '../../../src/lib/role.ts';
import { createMetrics, type Metrics } from '../../../src/platform/metrics/index.ts';
import { programEntry } from '../../../src/platform/processes/index.ts';
import { parse } from 'valibot';
import { openMigrated } from '../../support/databases.ts';
import { TestClock } from '../../support/test-clock.ts';
import { type LogLine, MIGRATIONS_DIR, recordingLog, temporaryFolder } from '../../support/workspace.ts';

export function attribute(type: CompiledAttribute['type'], more: Partial<CompiledAttribute> = {}) {
  return {
    type,
    display_name: type,
    access_level: 'readonly',
    implements: [],
    aliases: [],
    ...more,
  } as CompiledAttribute;
}

export function manifestOf(
  telemetry: Record<string, CompiledAttribute>,
  more: object = {},
): CompiledManifest {
  return {
    blueprint_spec: 'device_compiled/3.0',
    display_name: 'Test',
    implements: [],
    properties: {},
    telemetry,
    alerts: {},
    commands: {},
    configuration: {},
    ...more,
  };
}

export interface TestDevices extends Devices {
  add(slug: string, manifest: CompiledManifest, more?: Partial<Device>): Device;
  assign(device: Device, manifest: CompiledManifest): void;
  remove(device: Device): void;
  /** Default: those that an installer sees. */
  raisedAlerts(device: Device, role?: Role): string[];
}

export const TEST_POLICY: RetentionPolicy = {
  sampleDays: 4_000,
  minuteDays: 4_000,
  quarterDays: 4_000,
  sampleDaysOf: {},
  sizeMaxBytes: 64 * 1_048_576,
};

/** The part of device records that telemetry asks for, in memory. */
export function createTestDevices(): TestDevices {
  const events = new Emitter<DeviceEvents>({
    error: (_message, { owner, event, error }) => {
      throw new Error(`${owner} failed on ${event}`, { cause: error });
    },
  });
  const all: Device[] = [];
  const manifests = new Map<string, CompiledManifest>();
  const deleted = new Set<string>();
  const find = (idOrSlug: string): Device | undefined =>
    all.find((device) => device.id === idOrSlug || device.slug === idOrSlug);
  const refuse = (): never => {
    throw new Error('not part of these tests');
  };
  return {
    events,
    get: find,
    find,
    require: (idOrSlug) => find(idOrSlug) ?? refuse(),
    requireProfile: refuse,
    all: () => [...all].sort((a, b) => (a.id < b.id ? -1 : 1)),
    atAddress: refuse,
    manifest: (device) => manifests.get(device.id) ?? refuse(),
    connectivity: refuse,
    setConnectivity: refuse,
    properties: refuse,
    raisedAlertNames: () => [],
    usualPauseS: () => undefined,
    atHardware: () => [],
    raisedAlerts(device, role = 'INSTALLER') {
      return this.raisedAlertNames(device, role);
    },
    add: (slug, manifest, more = {}) => {
      const device: Device = {
        id: `00000000-0000-4000-8000-${String(all.length + 1).padStart(12, '0')}`,
        slug,
        name: slug,
        type: 'STANDALONE',
        blueprintId: '11111111-0000-4000-8000-000000000000',
        communication: { type: 'MQTT_V1_PLAINTEXT' },
        createdAtMs: 0,
        updatedAtMs: 0,
        ...more,
      };
      all.push(device);
      manifests.set(device.id, manifest);
      return device;
    },
    assign: (device, manifest) => {
      manifests.set(device.id, manifest);
      events.emit('blueprint_assigned', { device, previousBlueprintId: device.blueprintId });
    },
    mayForget: (deviceId) => deleted.has(deviceId),
    remove: (device) => {
      deleted.add(device.id);
      all.splice(all.indexOf(device), 1);
      events.emit('device_deleted', { device });
    },
  };
}

export interface TestTelemetry {
  telemetry: Telemetry;
  devices: TestDevices;
  clock: TestClock;
  lines: LogLine[];
  received: TelemetryEvents['telemetry_received'][];
  rejected: TelemetryEvents['attribute_rejected'][];
  folder: string;
  metrics: Metrics;
  /** Sends one message as of now and waits for its acknowledgement. */
  send: (device: Device, body: object) => Promise<void>;
  /** Stops and starts again on the same files. */
  restart: () => Promise<void>;
  /** The CSV answer of a query. */
  query: (query: object) => Promise<string>;
}

export async function startTelemetry(
  test: Pick<TestContext, 'after'>,
  options: {
    devices?: TestDevices;
    clock?: TestClock;
    journalFiles?: JournalFiles;
    policy?: Partial<RetentionPolicy>;
    /** Module of the thread instead of the real one. */
    entry?: string;
    limits?: Partial<Limits['telemetry']>;
    commits?: Partial<Limits['commits']>;
  } = {},
): Promise<TestTelemetry> {
  const clock = options.clock ?? new TestClock();
  const devices = options.devices ?? createTestDevices();
  const folder = temporaryFolder(test);
  const { log, lines } = recordingLog(clock);
  const started: TestTelemetry = {
    metrics: undefined as never,
    devices,
    clock,
    lines,
    folder,
    received: [],
    rejected: [],
    telemetry: undefined as never,
    send: async (device, body) => {
      const message = { device, body: withoutPrototype(body), receivedAtMs: clock.wallMs() };
      await acknowledged(clock, started.telemetry.handle(message));
    },
    restart: async () => {
      await started.telemetry.stop();
      await start();
    },
    query: async (query) => {
      const asked = parse(TimeSeriesQuery, query);
      const { csv } = started.telemetry.queryTimeSeries(asked, 'SYSTEM', new AbortController().signal);
      const pieces: Uint8Array[] = [];
      for await (const piece of csv) pieces.push(piece);
      return Buffer.concat(pieces).toString();
    },
  };

  async function start(): Promise<void> {
    const metrics = createMetrics();
    const journalFolder = join(folder, 'journal');
    started.metrics = metrics;
    const databasePath = join(folder, 'history.db');
    const migrationsDir = join(MIGRATIONS_DIR, 'history');
    openMigrated('history', { path: databasePath, clock, log }).close();
    const telemetry = new Telemetry({
      history: new ThreadedHistory({
        entry: options.entry ?? programEntry('telemetry-store/engine/thread'),
        databasePath,
        migrationsDir,
        journalFolder,
        policy: { ...TEST_POLICY, ...options.policy },
        clock,
        log,
        metrics,
        limits: { ...LIMITS.telemetry, ...options.limits },
      }),
      journalFolder,
      clock,
      log,
      metrics,
      devices,
      connectivity: { handle: (_kind: string, _handler: DeviceMessageHandler) => undefined },
      limits: {
        ...LIMITS,
        telemetry: { ...LIMITS.telemetry, ...options.limits },
        commits: { ...LIMITS.commits, ...options.commits },
      },
      site: () => ({ id: '22222222-0000-4000-8000-000000000000', name: 'Depot', timezone: 'Europe/Berlin' }),
      ...(options.journalFiles && { journalFiles: options.journalFiles }),
    });
    telemetry.events.on('telemetry_received', 'test', (event) => void started.received.push(event));
    telemetry.events.on('attribute_rejected', 'test', (event) => void started.rejected.push(event));
    await telemetry.start();
    started.telemetry = telemetry;
  }

  await start();
  test.after(() => started.telemetry.stop());
  return started;
}

/** As the decoder of device messages gives it. */
export function withoutPrototype(body: object): Record<string, unknown> {
  return Object.assign(Object.create(null) as Record<string, unknown>, body);
}

/** Moves the clock by up to a second, as group commits ask for, and waits until the promise settles. */
export async function acknowledged(clock: TestClock, promise: Promise<void> | void): Promise<void> {
  const state = { isSettled: promise === undefined };
  const settled = promise?.finally(() => {
    state.isSettled = true;
  });
  // The rejection reaches the caller below.
  settled?.catch(() => undefined);
  for (let turn = 0; !state.isSettled && turn < 50_000; turn++)
    // A slow disk may need another commit interval after the first one.
    await clock.advance(turn < 200 || turn % 500 === 0 ? 5 : 0);
  await settled;
}
