/**
 * The two faces that capabilities above the devices look at, with a device behind them that a test plays:
 * it sets what is subscribed, reads the requests and delivers messages. Records stand in a real state.db,
 * because foreign keys are part of what is tested.
 */
import { Emitter } from '../../src/lib/emitter.ts';
import { gatewayError } from '../../src/lib/errors.ts';
import type { CompiledCommand, CompiledManifest } from '../../src/capabilities/blueprints/index.ts';
import type {
  Connectivity,
  DeviceMessage,
  DeviceMessageHandler,
  DeviceMessageKind,
} from '../../src/capabilities/connectivity/index.ts';
import type {
  Communication,
  ConnectivityStatus,
  Device,
  DeviceEvents,
  Devices,
  DeviceType,
} from '../../src/capabilities/devices/index.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import type { Database } from '../../src/platform/sqlite/index.ts';

export interface SentRequest {
  deviceId: string;
  id: string;
  name: string;
  arguments: Record<string, unknown>;
}

export interface DeviceFaces {
  devices: Devices;
  connectivity: Pick<
    Connectivity,
    'handle' | 'observe' | 'canReceiveCommands' | 'sendCommandRequest' | 'send' | 'noteScript'
  >;
  /** Adds a device that is connected and listens for commands. */
  addDevice(fields?: NewDevice): Device;
  deleteDevice(device: Device): void;
  /** The device has another blueprint from now on. */
  assignManifest(device: Device, manifest: CompiledManifest): void;
  /** Requests that were published, in order. */
  sent: SentRequest[];
  /** Sessions that listen for commands; 1 for a new device. */
  setListening(device: Device, sessionCount: number): void;
  /** Replaces what happens at publishing: the number of sessions reached, later or never. */
  publish: (request: SentRequest) => Promise<number>;
  /** Replaces what a request waits for: everything stored so far is on the disk. */
  durable?: () => Promise<void>;
  /** Hands one message of the device to the gateway as MQTT would; its promise is the acknowledgement. */
  deliver(
    device: Device,
    kind: DeviceMessageKind,
    body: Record<string, unknown>,
    delivery?: { qos?: 0 | 1; duplicate?: boolean },
  ): Promise<void>;
}

export interface NewDevice {
  slug?: string;
  type?: DeviceType;
  communication?: Communication;
  commands?: Record<string, Partial<CompiledCommand>>;
  profiles?: string[];
  /** Instead of the two above. */
  manifest?: CompiledManifest;
}

export function createDeviceFaces(options: { state: Database; clock: Clock }): DeviceFaces {
  const { state, clock } = options;
  let addedCount = 0;
  const records = new Map<string, Device>();
  const deleted = new Set<string>();
  const manifests = new Map<string, CompiledManifest>();
  const statuses = new Map<string, ConnectivityStatus>();
  const listening = new Map<string, number>();
  const handlers = new Map<DeviceMessageKind, DeviceMessageHandler>();
  const observers = new Map<DeviceMessageKind, (device: Device) => void>();
  const failures: unknown[] = [];
  const events = new Emitter<DeviceEvents>({ error: (_message, { error }) => void failures.push(error) });
  const find = (idOrSlug: string): Device | undefined =>
    records.get(idOrSlug) ?? [...records.values()].find(({ slug }) => slug === idOrSlug);

  const devices: Devices = {
    events,
    get: (id) => records.get(id),
    find,
    require: (idOrSlug) => {
      const device = find(idOrSlug);
      if (!device) throw gatewayError('not_found', 'device_not_found', 'There is no such device.');
      return device;
    },
    requireProfile: (id) => id,
    all: () => [...records.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    atAddress: () => undefined,
    manifest: (device) => manifests.get(device.id) ?? manifestOf({}, []),
    connectivity: (id) => statuses.get(id) ?? 'OFFLINE',
    setConnectivity: (id, status) => void statuses.set(id, status),
    properties: () => ({}),
    raisedAlertNames: () => [],
    usualPauseS: () => undefined,
    atHardware: () => [],
    mayForget: (id) => deleted.has(id),
  };

  const faces: DeviceFaces = {
    devices,
    connectivity: {
      handle: (kind, handler) => void handlers.set(kind, handler),
      observe: (kind, listener) => void observers.set(kind, listener),
      canReceiveCommands: (device) => (listening.get(device.id) ?? 0) > 0,
      sendCommandRequest: async (device, request, isWanted) => {
        if (faces.durable) await faces.durable();
        if (isWanted?.() === false) return 0;
        const sent = { deviceId: device.id, ...request };
        faces.sent.push(sent);
        return faces.publish(sent);
      },
      send: async () => 0,
      noteScript: () => undefined,
    },
    sent: [],
    publish: async ({ deviceId }) => listening.get(deviceId) ?? 0,
    addDevice: (fields = {}) => {
      const device = deviceOf(fields, ++addedCount, clock.wallMs());
      insertRecord(state, device);
      records.set(device.id, device);
      manifests.set(device.id, fields.manifest ?? manifestOf(fields.commands ?? {}, fields.profiles ?? []));
      statuses.set(device.id, 'ONLINE');
      listening.set(device.id, 1);
      return device;
    },
    deleteDevice: (device) => {
      state.prepare('DELETE FROM device WHERE id = ?').run(device.id);
      records.delete(device.id);
      deleted.add(device.id);
      events.emit('device_deleted', { device });
    },
    assignManifest: (device, manifest) => {
      manifests.set(device.id, manifest);
      events.emit('blueprint_assigned', { device, previousBlueprintId: device.blueprintId });
    },
    setListening: (device, sessionCount) => {
      listening.set(device.id, sessionCount);
      statuses.set(device.id, sessionCount > 0 ? 'ONLINE' : 'OFFLINE');
    },
    deliver: async (device, kind, body, { qos = 1, duplicate = false } = {}) => {
      const message: DeviceMessage = {
        device,
        kind,
        body: Object.assign(Object.create(null) as Record<string, unknown>, body),
        sizeBytes: Buffer.byteLength(JSON.stringify(body)),
        receivedAtMs: clock.wallMs(),
        qos,
        duplicate,
      };
      observers.get(kind)?.(device);
      await handlers.get(kind)?.(message);
    },
  };
  return faces;
}

function deviceOf(fields: NewDevice, number: number, nowMs: number): Device {
  return {
    id: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`,
    slug: fields.slug ?? `device-${number}`,
    name: `Device ${number}`,
    type: fields.type ?? 'STANDALONE',
    blueprintId: 'test-blueprint',
    communication: fields.communication ?? {
      type: 'MQTT_V1_PLAINTEXT',
      hardwareId: `H${number}`,
      channelId: 'ucm',
    },
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
}

function insertRecord(state: Database, device: Device): void {
  state
    .prepare(
      `INSERT INTO blueprint (id, source, created_at_ms, manifest) VALUES ('test-blueprint', 'built_in', 0, '{}')
       ON CONFLICT DO NOTHING`,
    )
    .run();
  state
    .prepare(
      `INSERT INTO device (id, slug, name, type, blueprint_id, communication_type, created_at_ms, updated_at_ms)
       VALUES (:id, :slug, :name, :type, :blueprintId, :communicationType, :createdAtMs, :updatedAtMs)`,
    )
    .run({
      id: device.id,
      slug: device.slug,
      name: device.name,
      type: device.type,
      blueprintId: device.blueprintId,
      communicationType: device.communication.type,
      createdAtMs: device.createdAtMs,
      updatedAtMs: device.updatedAtMs,
    });
}

function manifestOf(
  commands: Record<string, Partial<CompiledCommand>>,
  profiles: string[],
): CompiledManifest {
  return {
    blueprint_spec: 'device_compiled/3.0',
    display_name: 'Test device',
    implements: profiles,
    properties: {},
    telemetry: {},
    alerts: {},
    configuration: {},
    commands: Object.fromEntries(
      Object.entries(commands).map(([name, command]) => [
        name,
        {
          display_name: name,
          group: 'main',
          access_level: 'user' as const,
          implements: [],
          aliases: [],
          ...command,
        },
      ]),
    ),
  };
}
