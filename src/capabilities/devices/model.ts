/** Device records. Source: docs/interface/http.md#devices. */
import type { Role } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';

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
/** What a device is: one of its own, one that a module carries, a module, the gateway. */
export type DeviceType = (typeof DEVICE_TYPES)[number];

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
  /** UCM_LUA, UCM_EMBEDDED and LINK: the device that carries this one. */
  upstreamId?: string;
  /** MQTT types: the device's address below `v1/from/…` (also kept for carried devices, not shown). */
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
  /** Changes on name, slug and blueprint; not on telemetry. */
  readonly updatedAtMs: EpochMs;
  /** How often a blueprint was assigned since it was made, the same one included; absent: never. */
  readonly assignmentCount?: number;
}

/** What people may change of a device; undefined: as it is. */
export type DeviceChange = { [Field in 'name' | 'slug']?: Device[Field] | undefined };

/** Whether a device is there now. */
export type ConnectivityStatus = 'ONLINE' | 'OFFLINE';

/** Emitted after commit. */
export interface DeviceEvents {
  device_created: { device: Device };
  device_updated: { device: Device; previous: Device };
  /** The blueprint, and with it the declared attributes and commands, is another one now. */
  blueprint_assigned: { device: Device; previousBlueprintId: string };
  /** Somebody assigned the blueprint that the device has: nothing is another one, but its script begins anew. */
  blueprint_assigned_again: { device: Device };
  device_deleted: { device: Device };
  /** Everything a message brought, known before or not; `null` stands for a property that was removed. */
  properties_received: { device: Device; values: Record<string, unknown>; receivedAtMs: EpochMs };
  /** A value that a device sent was not taken; `message` is a sentence for a person. */
  property_rejected: { device: Device; property: string; message: string };
  connectivity_changed: { device: Device; status: ConnectivityStatus; atMs: EpochMs };
}

/**
 * What is done, in the same transaction, before somebody of this role decides what receives the settings of devices: by
 * another script, or by new credentials.
 */
export type BeforeHandover = (devices: readonly Device[], role: Role) => void;
