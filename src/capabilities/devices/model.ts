/** Device records. Source: docs/interface/http.md#devices. */
import type { Role } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';

/** Kinds of devices that the interface knows. */
export const DEVICE_TYPES = [
  'STANDALONE',
  'GATEWAY',
  'EMBEDDED_UCM',
  'HARDWARE_UCM',
  'VIRTUAL_UCM',
  'LINK_MASTER_UCM',
  'LINK_SLAVE_UCM',
  'LUA',
  'NATIVE',
  'CHILD',
] as const;
/** Kind of a device: standalone, carried by a module, a module, or the gateway. */
export type DeviceType = (typeof DEVICE_TYPES)[number];

/** Whether it is a communication module, which carries other devices. */
export const isModule = ({ type }: Pick<Device, 'type'>): boolean =>
  type === 'VIRTUAL_UCM' || type === 'HARDWARE_UCM';

export const COMMUNICATION_TYPES = [
  'MQTT_V1_PLAINTEXT',
  'MQTT_V1_TLS',
  'MQTT_V1_LOCALHOST',
  'UCM_LUA',
  'UCM_EMBEDDED',
  'LINK',
] as const;
export type CommunicationType = (typeof COMMUNICATION_TYPES)[number];

/** How a device reaches the gateway. */
export interface Communication {
  type: CommunicationType;
  /** For UCM_LUA, UCM_EMBEDDED and LINK: the device that carries this one. */
  upstreamId?: string;
  /** The device's address below `v1/from/…`; kept for carried devices, too, but not shown. */
  hardwareId?: string;
  channelId?: string;
}

/** A device as it is stored. */
export interface Device {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly type: DeviceType;
  readonly blueprintId: string;
  readonly communication: Communication;
  readonly createdAtMs: EpochMs;
  /** Last change of name, slug, blueprint, room or notes. */
  readonly updatedAtMs: EpochMs;
  /** Number of blueprint assignments, also of the same blueprint; absent: none. */
  readonly assignmentCount?: number;
  /** Where people find it; absent or empty: not said. */
  readonly room?: string;
  /** What people noted of it; absent or empty: nothing. */
  readonly notes?: string;
  /** Its place in lists as people moved it; absent: behind those that have one, by name. */
  readonly position?: number;
}

/** A change of a device by a person; undefined members stay. */
export type DeviceChange = { [Field in 'name' | 'slug' | 'room' | 'notes']?: Device[Field] | undefined };

/** Whether a device is connected. */
export type ConnectivityStatus = 'ONLINE' | 'OFFLINE';

/** Emitted after commit. */
export interface DeviceEvents {
  device_created: { device: Device };
  device_updated: { device: Device; previous: Device };
  /** The device has another blueprint now, and with it other attributes and commands. */
  blueprint_assigned: { device: Device; previousBlueprintId: string };
  /** The blueprint that the device has was assigned again: its script restarts. */
  blueprint_assigned_again: { device: Device };
  device_deleted: { device: Device };
  /** All accepted properties of a message, changed or not; `null` for removed ones. */
  properties_received: { device: Device; values: Record<string, unknown>; receivedAtMs: EpochMs };
  /** A value that a device sent was rejected; `message` is a sentence for a person. */
  property_rejected: { device: Device; property: string; message: string };
  connectivity_changed: { device: Device; status: ConnectivityStatus; atMs: EpochMs };
}

/**
 * Called, in the same transaction, before a person of this role hands devices over to another script or to new credentials,
 * which receive the settings of the devices.
 */
export type BeforeHandover = (devices: readonly Device[], role: Role) => void;

/** `Roof 2` before `Roof 10`. */
const compareNames = new Intl.Collator('en', { numeric: true }).compare;

/** The gateway last and modules before it: people look for their devices. */
const rankOf = (device: Device): number => (device.type === 'GATEWAY' ? 2 : isModule(device) ? 1 : 0);

function compareInLists(a: Device, b: Device): number {
  const [placeA, placeB] = [a.position ?? Infinity, b.position ?? Infinity];
  const byPosition = placeA === placeB ? 0 : placeA - placeB;
  return rankOf(a) - rankOf(b) || byPosition || compareNames(a.name, b.name) || (a.id < b.id ? -1 : 1);
}

// All device records in memory, indexed by id, slug and address.

export class Registry {
  readonly #byId = new Map<string, Device>();
  readonly #bySlug = new Map<string, Device>();
  readonly #byHardware = new Map<string, Map<string, Device>>();
  #sorted: readonly Device[] | undefined;
  #positions: ReadonlyMap<string, number> | undefined;

  constructor(devices: readonly Device[]) {
    for (const device of devices) this.put(device);
  }

  get count(): number {
    return this.#byId.size;
  }

  get(id: string): Device | undefined {
    return this.#byId.get(id);
  }

  find(idOrSlug: string): Device | undefined {
    return this.#byId.get(idOrSlug) ?? this.#bySlug.get(idOrSlug);
  }

  atAddress(hardwareId: string, channelId: string): Device | undefined {
    return this.#byHardware.get(hardwareId)?.get(channelId);
  }

  /** Every device of a hardware id: its owner and the devices that the owner carries. */
  atHardware(hardwareId: string): readonly Device[] {
    return [...(this.#byHardware.get(hardwareId)?.values() ?? [])];
  }

  /** By id ascending; the same array until something changes. */
  all(): readonly Device[] {
    return (this.#sorted ??= [...this.#byId.values()].sort((a, b) => (a.id < b.id ? -1 : 1)));
  }

  /** As people see them: in the order that they gave, new ones behind. */
  inLists(): Device[] {
    return this.all().toSorted(compareInLists);
  }

  /** The place of a device in lists, from 0. */
  positionOf(id: string): number {
    this.#positions ??= new Map(this.inLists().map((device, index) => [device.id, index]));
    return this.#positions.get(id) ?? 0;
  }

  /** Adds the record, or replaces the one with the same id. */
  put(device: Device): void {
    const previous = this.#byId.get(device.id);
    if (previous) this.remove(previous);
    const { hardwareId, channelId } = device.communication;
    this.#byId.set(device.id, device);
    this.#bySlug.set(device.slug, device);
    if (hardwareId !== undefined && channelId !== undefined) {
      this.#byHardware.getOrInsertComputed(hardwareId, () => new Map()).set(channelId, device);
    }
    this.#forgetOrder();
  }

  remove(device: Device): void {
    const { hardwareId, channelId } = device.communication;
    this.#byId.delete(device.id);
    this.#bySlug.delete(device.slug);
    if (hardwareId !== undefined && channelId !== undefined) {
      const channels = this.#byHardware.get(hardwareId);
      channels?.delete(channelId);
      if (channels?.size === 0) this.#byHardware.delete(hardwareId);
    }
    this.#forgetOrder();
  }
  #forgetOrder(): void {
    this.#sorted = undefined;
    this.#positions = undefined;
  }
}
