import * as v from 'valibot';
import { type EpochMs, type EpochS, formatTimestamp } from '../../lib/time.ts';
import { query, stream, type Stream, type StreamSocket } from '../../platform/http/index.ts';
import { type Role, roleIncludes, roleNeededFor } from '../../lib/role.ts';
import { writableJson } from '../../lib/json.ts';
import type { Audit } from '../audit/index.ts';
import { DEVICE_COLLECTION_PATHS, type Device, type Devices } from '../devices/index.ts';
import type { DeviceLogs } from '../device-logs/index.ts';
import type { Telemetry, TelemetryEvents } from '../telemetry/index.ts';
import { type Content, messageShape, type MonitorMessage } from './schema.ts';

interface MonitorOptions {
  audit: Pick<Audit, 'events'>;
  devices: Devices;
  telemetry: Telemetry;
  deviceLogs: DeviceLogs;
}

const monitorQuery = v.object({
  'id.in': query.optionalList('Ids or slugs of the devices. Absent: all, those made later too.'),
  'telemetry.of': query.optionalList(
    'Ids or slugs of devices whose telemetry is wanted; of the others only alerts come, when they change. Those that are not there are left out. Absent: of all.',
  ),
  changes: query.flag(
    false,
    'Also sends a message with `change` whenever something was made, changed, deleted or commanded, by anybody.',
  ),
});

/**
 * The monitor stream: everything that happens to devices in one WebSocket (docs/interface/http.md#streams).
 * Each message carries one of telemetry, properties, log, connectivity, and on request change.
 */
export function monitorStreams(options: MonitorOptions): Stream[] {
  return [
    stream({
      operation: 'monitor_devices',
      about:
        'Everything that happens to devices; each message has one of telemetry, properties, connectivity, log, and with `changes` change.',
      message: messageShape,
      paths: DEVICE_COLLECTION_PATHS,
      role: 'READONLY',
      query: monitorQuery,
      open: (call) => {
        const wanted = wantedDevices(options.devices, call.query['id.in']);
        const attended = wantedDevices(options.devices, call.query['telemetry.of']);
        return (socket) => {
          const choose = telemetryChoice(options.devices, attended, call.principal.role);
          const ends = watch(options, call.principal.role, { wanted, choose }, socket);
          if (call.query.changes) ends.push(sendChanges(options.audit, wanted, socket));
          if (wanted) ends.push(closeAfterLastDevice(options.devices, wanted, socket));
          return ends;
        };
      },
    }),
  ];
}

/** Ids of the devices asked for by id or slug; undefined: all, those made later too. */
function wantedDevices(devices: Devices, asked: readonly string[] | undefined): Set<string> | undefined {
  if (!asked) return undefined;
  return new Set(asked.map((name) => devices.require(name).id));
}

type Values = TelemetryEvents['telemetry_received']['values'];
type Entries = Values extends ReadonlyMap<infer Name, infer Value> ? [Name, Value][] : never;

/** Selects the values of a message to send: all, or for other devices only alerts when they change. */
type TelemetryChoice = (device: Device, values: Values) => Entries;

function telemetryChoice(
  devices: Devices,
  attended: ReadonlySet<string> | undefined,
  role: Role,
): TelemetryChoice {
  if (!attended) return (_device, values) => [...values];
  const raisedOf = (device: Device): string => devices.raisedAlertNames(device, role).join();
  const raised = new Map(devices.all().map((device) => [device.id, raisedOf(device)]));
  return (device, values) => {
    if (attended.has(device.id)) return [...values];
    const now = raisedOf(device);
    if (raised.get(device.id) === now) return [];
    const declared = devices.manifest(device).telemetry;
    const alerts = [...values].filter(([name]) => declared[name]?.type === 'alerts');
    if (alerts.length > 0) raised.set(device.id, now);
    return alerts;
  };
}

/**
 * Tells that something has changed, not what it is now: that is read from the API, by the role. What was done is in the
 * audit trail, which fewer may read.
 */
function sendChanges(
  audit: MonitorOptions['audit'],
  wanted: ReadonlySet<string> | undefined,
  socket: StreamSocket<MonitorMessage>,
): () => void {
  return audit.events.on('action_done', 'monitor stream', ({ entry: { atMs, target } }) => {
    const deviceId = target['device_id'];
    if (deviceId !== undefined && wanted?.has(deviceId) === false) return;
    socket.send({
      ...(deviceId !== undefined && { device_id: deviceId }),
      received_at: formatTimestamp(atMs),
      timestamp: Math.floor(atMs / 1_000),
      change: deviceId === undefined ? 'OTHER' : target['command'] === undefined ? 'DEVICE' : 'COMMAND',
    });
  });
}

/** Closes the stream once every requested device is deleted. */
function closeAfterLastDevice(
  devices: Devices,
  wanted: Set<string>,
  socket: Pick<StreamSocket, 'close'>,
): () => void {
  return devices.events.on('device_deleted', 'monitor stream', ({ device }) => {
    if (wanted.delete(device.id) && wanted.size === 0) socket.close(1008, 'The device was deleted.');
  });
}

function watch(
  { devices, telemetry, deviceLogs }: MonitorOptions,
  role: Role,
  { wanted, choose }: { wanted: ReadonlySet<string> | undefined; choose: TelemetryChoice },
  socket: StreamSocket<MonitorMessage>,
): (() => void)[] {
  const isWanted = (device: Device | undefined): device is Device =>
    device !== undefined && (wanted?.has(device.id) ?? true);
  /** Without a declaration it is visible to every role. */
  const mayShow = (declared: { access_level: string } | undefined): boolean =>
    declared === undefined || roleIncludes(role, roleNeededFor(declared.access_level));
  const send = (device: Device, receivedAtMs: EpochMs, timestampS: EpochS, content: Content): void =>
    socket.send({
      device_id: device.id,
      received_at: formatTimestamp(receivedAtMs),
      timestamp: timestampS,
      ...content,
    });
  const owner = 'monitor stream';
  const ends = [
    telemetry.events.on('telemetry_received', owner, ({ device, values, receivedAtMs, timestampS }) => {
      if (!isWanted(device)) return;
      const declared = devices.manifest(device).telemetry;
      const shown = choose(device, values).filter(([name]) => mayShow(declared[name]));
      if (shown.length === 0) return;
      const telemetry = Object.fromEntries(shown.map(([name, { value }]) => [name, writableJson(value)]));
      send(device, receivedAtMs, timestampS, { telemetry });
    }),
    devices.events.on('properties_received', owner, ({ device, values, receivedAtMs }) => {
      if (!isWanted(device)) return;
      const declared = devices.manifest(device).properties;
      const shown = Object.entries(values).filter(
        ([name]) => Object.hasOwn(declared, name) && mayShow(declared[name]),
      );
      if (shown.length === 0) return;
      const properties = Object.fromEntries(shown);
      send(device, receivedAtMs, Math.floor(receivedAtMs / 1_000), { properties });
    }),
    devices.events.on('connectivity_changed', owner, ({ device, status, atMs }) => {
      if (isWanted(device)) send(device, atMs, Math.floor(atMs / 1_000), { connectivity: { status } });
    }),
  ];
  // Device logs need a higher role than the rest.
  if (roleIncludes(role, 'USER'))
    ends.push(
      deviceLogs.events.on('entry_stored', owner, ({ entry }) => {
        const device = devices.get(entry.deviceId);
        if (!isWanted(device)) return;
        const { severity, message, persist, receivedAtMs, deviceTimeS } = entry;
        send(device, receivedAtMs, deviceTimeS ?? Math.floor(receivedAtMs / 1_000), {
          log: { severity, message, persist },
        });
      }),
    );
  return ends;
}
