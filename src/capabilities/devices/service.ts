/**
 * Device records: stored in state.db, all of them also in memory. Source: docs/interface/http.md#devices. Of a device's
 * messages only properties are handled here; all others belong to higher capabilities.
 */
import { randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { alreadyExists, requireFound, requireUnderLimit, unprocessable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { nameContains, slugFromName } from '../../lib/text.ts';
import type { Role } from '../../lib/role.ts';
import type { DurationS } from '../../lib/time.ts';
import { correctMoments, type StampCorrection } from '../../platform/clock/index.ts';
import type { Instruments, Metrics } from '../../platform/metrics/index.ts';
import type { Database, GroupCommit } from '../../platform/sqlite/index.ts';
import {
  type Blueprints,
  type CompiledManifest,
  missingRequirements,
  remedyFor,
} from '../blueprints/index.ts';
import {
  type BeforeHandover,
  type Communication,
  type CommunicationType,
  type ConnectivityStatus,
  type Device,
  type DeviceChange,
  type DeviceEvents,
  type DeviceType,
  Registry,
} from './model.ts';
import { Properties, type PropertyMessage } from './properties.ts';
import { DepartedDevices } from './departed.ts';
import { createDeviceStore, type DeviceStore } from './store.ts';

/** A device to be added. Without an id it gets one. */
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
  /** A second choice that a device must also be in. */
  alsoIds?: readonly string[] | undefined;
  types?: readonly DeviceType[] | undefined;
  /** The device implements all of these. */
  profiles?: readonly string[] | undefined;
  /** Part of the name, in any case. */
  nameContains?: string | undefined;
}

interface DevicesOptions extends Instruments {
  database: Database;
  /** Group commit of state.db. */
  commits: GroupCommit;
  limits?: Limits;
  newId?: () => string;
  blueprints: Blueprints;
}

/** All devices, in memory: reading never touches the disk. Create it after the blueprints are loaded. */
export class DeviceService {
  readonly events: Emitter<DeviceEvents>;
  /** Set by the keeper of device settings. An error that it throws prevents the handover. */
  beforeHandover: BeforeHandover = () => undefined;
  /** Names of raised alerts that the role may see; set by telemetry, which knows them. */
  raisedAlertNames: (device: Device, role: Role) => string[] = () => [];
  /** How often it measures, set by `telemetry`; undefined: not known yet. */
  usualPauseS: (device: Device) => DurationS | undefined = () => undefined;
  readonly #options: DevicesOptions;
  readonly #limits: Limits['devices'];
  readonly #store: DeviceStore;
  readonly #registry: Registry;
  readonly #departed: DepartedDevices;
  readonly #properties: Properties;
  readonly #statuses = new Map<string, ConnectivityStatus>();
  /** Offers of modules by their id. */
  readonly #offers = new Map<string, ReadonlySet<string>>();

  constructor(options: DevicesOptions) {
    this.#options = options;
    const log = options.log.child({ component: 'devices' });
    const { database, clock, commits, metrics } = options;
    const limits = (this.#limits = (options.limits ?? LIMITS).devices);
    this.events = new Emitter<DeviceEvents>(log);
    this.#store = createDeviceStore(database);
    this.#registry = new Registry(this.#store.all());
    this.#departed = new DepartedDevices({ database, clock, limits });
    for (const { id } of this.all()) this.#departed.returned(id);
    this.#properties = new Properties({
      store: this.#store,
      commits,
      clock,
      metrics,
      limits,
      manifest: (device) => this.manifest(device),
      received: (device, values, receivedAtMs) => {
        const known = this.get(device.id);
        if (known) this.events.emit('properties_received', { device: known, values, receivedAtMs });
      },
      rejected: (device, property, message) =>
        this.events.emit('property_rejected', { device, property, message }),
    });
    registerMetrics(metrics, this.#registry, this.#statuses);
  }

  get(id: string): Device | undefined {
    return this.#registry.get(id);
  }

  find(idOrSlug: string): Device | undefined {
    return this.#registry.find(idOrSlug);
  }

  /** By id or slug. @throws GatewayError device_not_found (404) */
  require(idOrSlug: string): Device {
    const message = `There is no device "${idOrSlug.slice(0, 64)}".`;
    return requireFound('device_not_found', message, this.find(idOrSlug));
  }

  /** A profile that the gateway has, or a device from before it was removed. @throws GatewayError profile_not_found (404) */
  requireProfile(id: string): string {
    const isImplemented = this.all().some((device) => this.manifest(device).implements.includes(id));
    return isImplemented ? id : this.#options.blueprints.profiles.require(id).id;
  }

  /** Every device, by id ascending. */
  all(): readonly Device[] {
    return this.#registry.all();
  }

  /** Moments in memory that a wrong clock gave. */
  restamp(correction: StampCorrection): void {
    for (const device of this.all()) this.#registry.put(correctMoments(device, correction));
  }

  /** Devices that pass the filter, by id ascending. */
  list(filter: DeviceFilter): readonly Device[] {
    return this.all().filter((device) => passes(device, filter, (one) => this.manifest(one)));
  }

  atAddress(hardwareId: string, channelId: string): Device | undefined {
    return this.#registry.atAddress(hardwareId, channelId);
  }

  /** All devices of this hardware id: its owner and the devices that the owner carries. */
  atHardware(hardwareId: string): readonly Device[] {
    return this.#registry.atHardware(hardwareId);
  }

  /**
   * Whether the history may delete the data of an unknown device: it was deleted, or has been unknown for
   * weeks. Call it once an hour for every such device.
   */
  mayForget(deviceId: string): boolean {
    return this.#departed.mayForget(deviceId);
  }

  /** The compiled manifest of the device's blueprint; the same object until another blueprint is assigned. */
  manifest({ blueprintId }: Device): CompiledManifest {
    return this.#options.blueprints.manifest(blueprintId);
  }

  connectivity(deviceId: string): ConnectivityStatus {
    return this.#statuses.get(deviceId) ?? 'OFFLINE';
  }

  /** Called by `connectivity`. Emits `connectivity_changed` on a change. */
  setConnectivity(deviceId: string, status: ConnectivityStatus): void {
    const device = this.get(deviceId);
    if (!device || this.connectivity(deviceId) === status) return;
    this.#statuses.set(deviceId, status);
    this.events.emit('connectivity_changed', { device, status, atMs: this.#options.clock.wallMs() });
  }

  /** Last received properties that the manifest declares and the role may see. */
  properties(device: Device, role: Role): Readonly<Record<string, unknown>> {
    return this.#properties.of(device, role);
  }

  /** A device's properties message; resolves when it is on disk. */
  takeProperties(message: PropertyMessage): Promise<void> | void {
    return this.#properties.take(message);
  }

  /** Offers that a module has announced, until the gateway ends. */
  setOffers(runtimeId: string, offers: ReadonlySet<string>): void {
    this.#offers.set(runtimeId, offers);
  }

  /**
   * Stores a new device; `alsoStore` runs in the same transaction.
   * @throws GatewayError already_exists (slug or address), device_limit_reached, blueprint_not_found
   */
  create(fields: NewDevice, alsoStore?: (device: Device) => void): Device {
    const { blueprints, database, newId = randomUUID, clock } = this.#options;
    blueprints.require(fields.blueprintId);
    const { devices: limit } = this.#limits;
    requireUnderLimit(
      'device_limit_reached',
      `The gateway has ${limit} devices.`,
      this.#registry.count,
      limit,
    );
    const taken = (slug: string): boolean => this.find(slug) !== undefined;
    const slug = fields.slug ?? slugFromName(fields.name, 'device', taken);
    this.#requireFreeSlug(slug);
    const { hardwareId, channelId } = fields.communication;
    if (hardwareId !== undefined && channelId !== undefined && this.atAddress(hardwareId, channelId))
      throw alreadyTaken('hardware_id', hardwareId);
    const nowMs = clock.wallMs();
    const device = { ...fields, id: fields.id ?? newId(), slug, createdAtMs: nowMs, updatedAtMs: nowMs };
    database.transaction(() => {
      this.#store.insert(device);
      alsoStore?.(device);
    });
    this.#registry.put(device);
    this.events.emit('device_created', { device });
    return device;
  }

  /** The place of a device in lists, from 0. */
  positionOf({ id }: Device): number {
    return this.#registry.positionOf(id);
  }

  /** Puts a device at a place in lists, from 0; the others keep their order. */
  move(device: Device, position: number): Device {
    const order = this.#registry.inLists().filter(({ id }) => id !== device.id);
    order.splice(position, 0, device);
    const moved = order.flatMap((one, index) =>
      one.position === index ? [] : [{ ...one, position: index }],
    );
    this.#options.database.transaction(() => moved.forEach((one) => this.#store.update(one)));
    for (const one of moved) this.#registry.put(one);
    return this.get(device.id) ?? device;
  }

  /** @throws GatewayError already_exists */
  update(device: Device, change: DeviceChange): Device {
    const changed: Partial<Device> = Object.fromEntries(
      Object.entries(change).filter(
        ([name, value]) => value !== undefined && value !== device[name as keyof DeviceChange],
      ),
    );
    if (Object.keys(changed).length === 0) return device;
    if (changed.slug !== undefined) this.#requireFreeSlug(changed.slug);
    return this.#replace(device, { ...device, ...changed });
  }

  /**
   * Sets how the device connects, after a new connection configuration; `alsoStore` as in `create`.
   * @param role of the person who gets the new credentials
   */
  setCommunicationType(device: Device, type: CommunicationType, alsoStore?: () => void, role?: Role): Device {
    const updated = { ...device, communication: { ...device.communication, type } };
    this.#options.database.transaction(() => {
      if (role !== undefined) this.beforeHandover([device, ...this.#dependentsOf(device)], role);
      this.#store.update(updated);
      alsoStore?.();
    });
    this.#registry.put(updated);
    if (type !== device.communication.type)
      this.events.emit('device_updated', { device: updated, previous: device });
    return updated;
  }

  /**
   * @param role of the person who assigns it; absent: the gateway itself
   * @throws GatewayError blueprint_not_found, invalid_blueprint when it does not fit the device
   */
  assignBlueprint(device: Device, blueprintId: string, role?: Role): Device {
    this.#options.blueprints.require(blueprintId);
    if (device.type === 'GATEWAY')
      throw invalidBlueprint("The gateway's own device keeps its built-in blueprint.");
    if (device.type === 'LUA') this.requireRunnable(blueprintId, device.communication.upstreamId);
    const assignmentCount = (device.assignmentCount ?? 0) + 1;
    if (blueprintId === device.blueprintId) {
      const again = { ...device, assignmentCount };
      this.#options.database.transaction(() => this.#store.update(again));
      this.#registry.put(again);
      this.events.emit('blueprint_assigned_again', { device: again });
      return again;
    }
    const assigned = this.#replace(device, { ...device, blueprintId, assignmentCount }, () => {
      if (role !== undefined) this.beforeHandover([device], role);
    });
    this.events.emit('blueprint_assigned', { device: assigned, previousBlueprintId: device.blueprintId });
    return assigned;
  }

  /** @throws GatewayError invalid_blueprint when a software module cannot run the blueprint */
  requireRunnable(blueprintId: string, runtimeId: string | undefined): void {
    const { blueprints } = this.#options;
    if (blueprints.script(blueprintId) === undefined)
      throw invalidBlueprint('The blueprint has no Lua script, so no module can run it.');
    const missing = missingRequirements(blueprints.manifest(blueprintId), this.#offers.get(runtimeId ?? ''));
    if (missing.length === 0) return;
    const remedy = remedyFor(missing);
    throw invalidBlueprint(
      `runtime device does not provide: ${missing.join(', ')}${remedy === undefined ? '' : `; ${remedy}`}`,
    );
  }

  /** @throws GatewayError device_not_deletable, device_has_dependents */
  remove(device: Device): void {
    this.#requireDeletable(device);
    // Properties that wait for the group commit must not be written after the record was deleted.
    this.#properties.forget(device.id);
    this.#options.database.transaction(() => {
      this.#store.remove(device.id);
      this.#departed.recordDeletion(device.id);
    });
    this.#registry.remove(device);
    this.#statuses.delete(device.id);
    this.events.emit('device_deleted', { device });
  }

  /** Replaces a record, and emits `device_updated`. @param before runs first in the same transaction */
  #replace(previous: Device, next: Device, before: () => void = () => undefined): Device {
    const device = { ...next, updatedAtMs: this.#options.clock.wallMs() };
    this.#options.database.transaction(() => {
      before();
      this.#store.update(device);
    });
    this.#registry.put(device);
    this.events.emit('device_updated', { device, previous });
    return device;
  }

  #dependentsOf({ id }: Device): Device[] {
    return this.all().filter(({ communication }) => communication.upstreamId === id);
  }

  #requireDeletable(device: Device): void {
    // The gateway's own device and its built-in module.
    if (device.communication.type === 'MQTT_V1_LOCALHOST' && device.type !== 'STANDALONE')
      throw unprocessable(
        'device_not_deletable',
        `"${device.name}" is part of the gateway and cannot be deleted.`,
      );
    const dependents = this.#dependentsOf(device);
    if (dependents.length === 0) return;
    throw unprocessable(
      'device_has_dependents',
      `Other devices run on "${device.name}": ${dependents.length}. Delete them first.`,
      { device_ids: dependents.map(({ id }) => id) },
    );
  }

  #requireFreeSlug(slug: string): void {
    if (this.find(slug)) throw alreadyTaken('slug', slug);
  }
}

/** The part of the devices that other capabilities use. */
export type Devices = Pick<
  DeviceService,
  | 'events'
  | 'get'
  | 'find'
  | 'require'
  | 'requireProfile'
  | 'all'
  | 'atAddress'
  | 'atHardware'
  | 'mayForget'
  | 'manifest'
  | 'connectivity'
  | 'setConnectivity'
  | 'properties'
  | 'raisedAlertNames'
  | 'usualPauseS'
>;

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
  const { ids, alsoIds, types, profiles, nameContains: namePart } = filter;
  if (ids && !ids.includes(device.id)) return false;
  if (alsoIds && !alsoIds.includes(device.id)) return false;
  if (types && !types.includes(device.type)) return false;
  if (namePart !== undefined && !nameContains(device.name, namePart)) return false;
  if (!profiles) return true;
  const { implements: implemented } = manifest(device);
  return profiles.every((profile) => implemented.includes(profile));
}

function alreadyTaken(field: string, value: string): Error {
  return alreadyExists(`Another device has the ${field} "${value}".`, field, value);
}

function invalidBlueprint(message: string): Error {
  return unprocessable('invalid_blueprint', message);
}
