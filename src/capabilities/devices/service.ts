/**
 * Device records: kept in state.db, all of them also in memory. Source: docs/interface/http.md#devices. What a device
 * sends is taken in by `takeProperties`; everything else about its messages is for the capabilities above.
 */
import { randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { gatewayError, notFound } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { slugFromName } from '../../lib/slug.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Role } from '../../platform/http/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Database, GroupCommit } from '../../platform/sqlite/index.ts';
import { type Blueprints, missingRequirements, remedyFor } from '../blueprints/index.ts';
import type {
  BeforeHandover,
  Communication,
  CommunicationType,
  ConnectivityStatus,
  Device,
  DeviceEvents,
  Devices,
  DeviceType,
} from './model.ts';
import { createProperties, type PropertyMessage } from './properties.ts';
import { createRegistry, type Registry } from './registry.ts';
import { DepartedDevices } from './departed.ts';
import { createDeviceStore, type DeviceStore } from './store.ts';

export interface NewDevice {
  id?: string;
  name: string;
  /** Absent: made from the name. */
  slug?: string | undefined;
  type: DeviceType;
  blueprintId: string;
  communication: Communication;
}

export interface DeviceFilter {
  ids?: readonly string[] | undefined;
  slugs?: readonly string[] | undefined;
  types?: readonly DeviceType[] | undefined;
  /** All of these are implemented. */
  profiles?: readonly string[] | undefined;
  /** Part of the name, in any case. */
  nameContains?: string | undefined;
}

export interface DeviceService extends Devices {
  /** Whoever keeps settings of devices decides what a handover leaves of them. What it throws prevents it. */
  setBeforeHandover(work: BeforeHandover): void;
  /** Those that pass the filter, by id ascending. */
  list(filter: DeviceFilter): readonly Device[];
  /**
   * Stores a new device; `alsoStore` runs in the same transaction.
   * @throws GatewayError already_exists (slug or address), device_limit_reached, blueprint_not_found
   */
  create(fields: NewDevice, alsoStore?: (device: Device) => void): Device;
  /** @throws GatewayError already_exists */
  update(device: Device, change: { name?: string | undefined; slug?: string | undefined }): Device;
  /**
   * Another way to the same address, as its last connection configuration says; `alsoStore` as in `create`. `role` is
   * that of the person who gets the new credentials.
   */
  setCommunicationType(device: Device, type: CommunicationType, alsoStore?: () => void, role?: Role): Device;
  /** @throws GatewayError device_not_deletable, device_has_dependents */
  remove(device: Device): void;
  /**
   * `role` is that of the person who does it; absent: the gateway itself.
   * @throws GatewayError blueprint_not_found, invalid_blueprint when it does not fit the device
   */
  assignBlueprint(device: Device, blueprintId: string, role?: Role): Device;
  /** A device's properties message; resolves when it is on disk. */
  takeProperties(message: PropertyMessage): Promise<void> | void;
  /** @throws GatewayError invalid_blueprint when a software module cannot run the blueprint */
  requireRunnable(blueprintId: string, runtimeId: string | undefined): void;
  /** What a module said that it offers, for as long as the gateway runs; before that, what every one does. */
  setOffers(runtimeId: string, offers: ReadonlySet<string>): void;
}

export interface DevicesOptions {
  /** state.db */
  database: Database;
  /** Group commit of state.db. */
  commits: GroupCommit;
  clock: Clock;
  log: Log;
  metrics: Metrics;
  limits?: Limits;
  newId?: () => string;
  blueprints: Blueprints;
}

interface Parts {
  database: Database;
  clock: Clock;
  limits: Limits['devices'];
  newId: () => string;
  blueprints: Blueprints;
  store: DeviceStore;
  registry: Registry;
  events: Emitter<DeviceEvents>;
  /** What modules offer, by their id. */
  offers: Map<string, ReadonlySet<string>>;
  beforeHandover: BeforeHandover;
}

/** Reads all records; call after the blueprints are known. */
export function createDevices(options: DevicesOptions): DeviceService {
  const log = options.log.child({ component: 'devices' });
  const { database, clock, blueprints, commits, metrics } = options;
  const limits = (options.limits ?? LIMITS).devices;
  const events = new Emitter<DeviceEvents>((owner, event, error) =>
    log.error('listener failed', { owner, event, error }),
  );
  const store = createDeviceStore(database);
  const registry = createRegistry(store.all());
  const departed = new DepartedDevices({ database, clock, limits });
  for (const { id } of registry.all()) departed.returned(id);
  const newId = options.newId ?? randomUUID;
  const offers = new Map<string, ReadonlySet<string>>();
  const parts: Parts = {
    database,
    clock,
    limits,
    newId,
    blueprints,
    store,
    registry,
    events,
    offers,
    beforeHandover: () => undefined,
  };
  const statuses = new Map<string, ConnectivityStatus>();
  const manifest: Devices['manifest'] = (device) => blueprints.manifest(device.blueprintId);
  const properties = createProperties({
    store,
    commits,
    clock,
    metrics,
    limits,
    manifest,
    received: (device, values, receivedAtMs) => {
      if (registry.get(device.id))
        events.emit('properties_received', {
          device: registry.get(device.id) ?? device,
          values,
          receivedAtMs,
        });
    },
    rejected: (device, property, message) => events.emit('property_rejected', { device, property, message }),
  });
  let raisedAlerts: (device: Device) => string[] = () => [];
  registerMetrics(metrics, registry, statuses);

  return {
    events,
    get: (id) => registry.get(id),
    find: (idOrSlug) => registry.find(idOrSlug),
    require: (idOrSlug) => {
      const device = registry.find(idOrSlug);
      if (!device) throw notFound('device_not_found', `There is no device "${idOrSlug.slice(0, 64)}".`);
      return device;
    },
    all: () => registry.all(),
    atAddress: (hardwareId, channelId) => registry.atAddress(hardwareId, channelId),
    atHardware: (hardwareId) => registry.atHardware(hardwareId),
    manifest,
    connectivity: (deviceId) => statuses.get(deviceId) ?? 'OFFLINE',
    setConnectivity: (deviceId, status) => {
      const device = registry.get(deviceId);
      if (!device || (statuses.get(deviceId) ?? 'OFFLINE') === status) return;
      statuses.set(deviceId, status);
      events.emit('connectivity_changed', { device, status, atMs: clock.wallMs() });
    },
    properties: (device, role) => properties.of(device, role),
    raisedAlertNames: (device) => raisedAlerts(device),
    setRaisedAlerts: (source) => (raisedAlerts = source),
    list: (filter) => registry.all().filter((device) => passes(device, filter, manifest)),
    create: (fields, alsoStore) => create(parts, fields, alsoStore),
    update: (device, change) => update(parts, device, change),
    setBeforeHandover: (work) => void (parts.beforeHandover = work),
    setCommunicationType: (device, type, alsoStore, role) => {
      const updated = { ...device, communication: { ...device.communication, type } };
      database.transaction(() => {
        if (role !== undefined) parts.beforeHandover([device, ...dependentsOf(registry, device)], role);
        store.update(updated);
        alsoStore?.();
      });
      registry.put(updated);
      if (type !== device.communication.type)
        events.emit('device_updated', { device: updated, previous: device });
      return updated;
    },
    remove: (device) => {
      requireDeletable(parts, device);
      // What waits for the group commit must not come after the record is gone.
      properties.forget(device.id);
      database.transaction(() => {
        store.remove(device.id);
        departed.recordDeletion(device.id);
      });
      registry.remove(device);
      statuses.delete(device.id);
      events.emit('device_deleted', { device });
    },
    mayForget: (deviceId) => departed.mayForget(deviceId),
    assignBlueprint: (device, blueprintId, role) => assignBlueprint(parts, device, blueprintId, role),
    takeProperties: (message) => properties.take(message),
    requireRunnable: (blueprintId, runtimeId) => requireRunnable(parts, blueprintId, runtimeId),
    setOffers: (runtimeId, given) => void offers.set(runtimeId, given),
  };
}

function registerMetrics(
  metrics: Metrics,
  registry: Registry,
  statuses: ReadonlyMap<string, ConnectivityStatus>,
): void {
  metrics.gauge('devices', 'Devices by connectivity.', ['status'], (gauge) => {
    const online = [...statuses.values()].filter((status) => status === 'ONLINE').length;
    gauge.set({ status: 'ONLINE' }, online);
    gauge.set({ status: 'OFFLINE' }, registry.count - online);
  });
}

function passes(device: Device, filter: DeviceFilter, manifest: Devices['manifest']): boolean {
  const { ids, slugs, types, profiles, nameContains } = filter;
  if (ids && !ids.includes(device.id)) return false;
  if (slugs && !slugs.includes(device.slug)) return false;
  if (types && !types.includes(device.type)) return false;
  if (nameContains !== undefined && !device.name.toLowerCase().includes(nameContains.toLowerCase()))
    return false;
  if (!profiles) return true;
  const { implements: implemented } = manifest(device);
  return profiles.every((profile) => implemented.includes(profile));
}

function create(parts: Parts, fields: NewDevice, alsoStore: ((device: Device) => void) | undefined): Device {
  const { registry, limits, blueprints, store, clock } = parts;
  const { name, communication } = fields;
  blueprints.require(fields.blueprintId);
  if (registry.count >= limits.devices)
    throw gatewayError(
      'unprocessable',
      'device_limit_reached',
      `The gateway has ${limits.devices} devices.`,
      {
        limit: limits.devices,
      },
    );
  const slug =
    fields.slug ?? slugFromName(name, 'device', (candidate) => registry.find(candidate) !== undefined);
  requireFreeSlug(registry, slug);
  const { hardwareId, channelId } = communication;
  if (hardwareId !== undefined && channelId !== undefined && registry.atAddress(hardwareId, channelId))
    throw alreadyExists('hardware_id', hardwareId);
  const nowMs = clock.wallMs();
  const device: Device = {
    id: fields.id ?? parts.newId(),
    slug,
    name,
    type: fields.type,
    blueprintId: fields.blueprintId,
    communication,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
  };
  parts.database.transaction(() => {
    store.insert(device);
    alsoStore?.(device);
  });
  registry.put(device);
  parts.events.emit('device_created', { device });
  return device;
}

function update(
  parts: Parts,
  device: Device,
  change: { name?: string | undefined; slug?: string | undefined },
): Device {
  const { name = device.name, slug = device.slug } = change;
  if (name === device.name && slug === device.slug) return device;
  if (slug !== device.slug) requireFreeSlug(parts.registry, slug);
  return replace(parts, device, { ...device, name, slug });
}

/** Stores a record in place of another one, and what belongs to it, and tells it. */
function replace(
  { database, store, registry, clock, events }: Parts,
  previous: Device,
  next: Device,
  before: () => void = () => undefined,
): Device {
  const device = { ...next, updatedAtMs: clock.wallMs() };
  database.transaction(() => {
    before();
    store.update(device);
  });
  registry.put(device);
  events.emit('device_updated', { device, previous });
  return device;
}

function assignBlueprint(parts: Parts, device: Device, blueprintId: string, role: Role | undefined): Device {
  parts.blueprints.require(blueprintId);
  if (device.type === 'GATEWAY')
    throw invalidBlueprint("The gateway's own device keeps its built-in blueprint.");
  if (device.type === 'LUA') requireRunnable(parts, blueprintId, device.communication.upstreamId);
  if (blueprintId === device.blueprintId) return device;
  const assigned = replace(parts, device, { ...device, blueprintId }, () => {
    if (role !== undefined) parts.beforeHandover([device], role);
  });
  parts.events.emit('blueprint_assigned', { device: assigned, previousBlueprintId: device.blueprintId });
  return assigned;
}

function requireRunnable(
  { blueprints, offers }: Parts,
  blueprintId: string,
  runtimeId: string | undefined,
): void {
  if (blueprints.script(blueprintId) === undefined)
    throw invalidBlueprint('The blueprint has no Lua script, so no module can run it.');
  const missing = missingRequirements(blueprints.manifest(blueprintId), offers.get(runtimeId ?? ''));
  if (missing.length === 0) return;
  const remedy = remedyFor(missing);
  throw invalidBlueprint(
    `runtime device does not provide: ${missing.join(', ')}${remedy === undefined ? '' : `; ${remedy}`}`,
  );
}

function dependentsOf(registry: Registry, { id }: Device): Device[] {
  return registry.all().filter(({ communication }) => communication.upstreamId === id);
}

function requireDeletable({ registry }: Parts, device: Device): void {
  // The gateway's own device and the module that is built in.
  if (device.communication.type === 'MQTT_V1_LOCALHOST')
    throw gatewayError(
      'unprocessable',
      'device_not_deletable',
      `"${device.name}" is part of the gateway and cannot be deleted.`,
    );
  const dependents = dependentsOf(registry, device);
  if (dependents.length === 0) return;
  throw gatewayError(
    'unprocessable',
    'device_has_dependents',
    `${dependents.length} devices run on "${device.name}"; delete them first.`,
    { device_ids: dependents.map(({ id }) => id) },
  );
}

function requireFreeSlug(registry: Registry, slug: string): void {
  if (registry.find(slug)) throw alreadyExists('slug', slug);
}

function alreadyExists(field: string, value: string): Error {
  return gatewayError('conflict', 'already_exists', `Another device has the ${field} "${value}".`, {
    field,
    value,
  });
}

function invalidBlueprint(message: string): Error {
  return gatewayError('unprocessable', 'invalid_blueprint', message);
}
