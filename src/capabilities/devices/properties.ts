/**
 * Properties of devices: what a device says about itself, merged message by message
 * (mqtt-device-protocol.md section 6). Devices repeat them every few seconds, so only changes reach the disk.
 */
import { isDeepStrictEqual } from 'node:util';
import { createComplaints } from '../../lib/complaints.ts';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { type Role, roleIncludes, roleOfAccessLevel } from '../../platform/http/index.ts';
import type { GroupCommit } from '../../platform/sqlite/index.ts';
import { checkDeviceValue, type CompiledManifest } from '../blueprints/index.ts';
import type { Device } from './model.ts';
import type { DeviceStore } from './store.ts';

/** Reserved: the device's own time. */
const TIMESTAMP_KEY = 'timestamp';
/** Subjects of complaints that no property has as its name. */
const TOO_MANY = ' too many';
const TOO_LARGE = ' too large';

export interface PropertyMessage {
  device: Device;
  body: Record<string, unknown>;
  receivedAtMs: number;
}

export interface Properties {
  /** Merges one message; resolves when everything it says is on disk, at once when that was known already. */
  take(message: PropertyMessage): Promise<void> | void;
  /** Values that the manifest declares, that fit it now, and that the role may see. */
  of(device: Device, role: Role): Record<string, unknown>;
  forget(deviceId: string): void;
}

interface Held {
  values: Record<string, unknown>;
  /** Of `values`; counting them for every new name of a message would take the square of their number. */
  count: number;
  /** Of their names and values as JSON. */
  sizeBytes: number;
  receivedAtMs: number;
}

export function createProperties(options: {
  store: DeviceStore;
  commits: GroupCommit;
  metrics: Metrics;
  clock: Clock;
  limits: Limits['devices'];
  manifest: (device: Device) => CompiledManifest;
  changed: (device: Device, changed: Record<string, unknown>, receivedAtMs: number) => void;
  /** A value was not taken, with a sentence for a person; once an hour and property, and so many a device. */
  rejected: (device: Device, property: string, message: string) => void;
}): Properties {
  const { store, commits, limits } = options;
  const held = new Map<string, Held>(
    store
      .allProperties()
      .map(({ deviceId, values, receivedAtMs }) => [deviceId, heldOf(values, receivedAtMs)]),
  );
  /** Devices with changes that are not on disk yet, with what changed. */
  const unsaved = new Map<string, { device: Device; changed: Record<string, unknown> }>();
  const rejectedCount = options.metrics.counter(
    'properties_rejected_total',
    'Property values of devices that were not taken.',
  );

  commits.join({
    write: () => {
      for (const [deviceId] of unsaved) {
        const { values, receivedAtMs } = held.get(deviceId) ?? newlyHeld();
        store.putProperties(deviceId, JSON.stringify(values), receivedAtMs);
      }
    },
    committed: () => {
      const saved = [...unsaved.values()];
      unsaved.clear();
      for (const { device, changed } of saved)
        options.changed(device, changed, held.get(device.id)?.receivedAtMs ?? 0);
    },
  });

  const complaints = createComplaints({
    intervalMs: limits.complaintIntervalMs,
    perOwner: limits.complaintsPerDevice,
  });

  /** @param subject what is told once; the name of the property unless all of them share the fault */
  function reject(device: Device, property: string, sentence: string, subject = property): void {
    rejectedCount.inc();
    const message = complaints.tell(device.id, subject, sentence, options.clock.monotonicMs());
    if (message !== undefined) options.rejected(device, property, message);
  }

  /** The value to keep, `null` to remove it, undefined to leave everything as it was. */
  function accepted(device: Device, state: Held, name: string, raw: unknown): unknown {
    if (raw === null) return null;
    if (name.length > limits.propertyNameLength) {
      reject(device, name.slice(0, limits.propertyNameLength), 'The name of a property is too long.');
      return undefined;
    }
    const { properties } = options.manifest(device);
    // A device may name a property `constructor`, which every object inherits.
    const declaration = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const checked = declaration ? checkDeviceValue(declaration, raw) : { value: raw };
    if (checked.problem !== undefined) {
      reject(device, name, `Property "${name}" ${checked.problem}; it was dropped.`);
      return undefined;
    }
    if (Buffer.byteLength(JSON.stringify(checked.value)) > limits.propertyBytes) {
      reject(device, name, `Property "${name}" has more than ${limits.propertyBytes} bytes.`);
      return undefined;
    }
    if (!(name in state.values) && state.count >= limits.propertiesPerDevice) {
      reject(device, name, `The device has more than ${limits.propertiesPerDevice} properties.`, TOO_MANY);
      return undefined;
    }
    const grownBytes = sizeOf(name, checked.value) - sizeOf(name, state.values[name]);
    if (grownBytes > 0 && state.sizeBytes + grownBytes > limits.propertiesBytesPerDevice) {
      const most = limits.propertiesBytesPerDevice;
      reject(device, name, `The properties of the device have more than ${most} bytes together.`, TOO_LARGE);
      return undefined;
    }
    return checked.value;
  }

  /** Properties that are new or different now, `null` for removed ones. */
  function merge(device: Device, state: Held, body: Record<string, unknown>): Record<string, unknown> {
    const changed = emptyObject();
    const { properties } = options.manifest(device);
    for (const sent in body) {
      if (sent === TIMESTAMP_KEY) continue;
      const name = declaredName(properties, sent);
      if (Object.hasOwn(properties, name)) adopt(state.values, name, properties[name]?.aliases ?? []);
      const value = accepted(device, state, name, body[sent]);
      if (value === undefined || isDeepStrictEqual(value, state.values[name] ?? null)) continue;
      changed[name] = value;
      keep(state, name, value);
    }
    return changed;
  }

  return {
    take: ({ device, body, receivedAtMs }) => {
      let state = held.get(device.id);
      if (!state) held.set(device.id, (state = newlyHeld()));
      state.receivedAtMs = receivedAtMs;
      const changed = merge(device, state, body);
      const names = Object.keys(changed);
      const waiting = unsaved.get(device.id);
      if (names.length === 0) return waiting && commits.request(0);
      unsaved.set(device.id, { device, changed: Object.assign(waiting?.changed ?? emptyObject(), changed) });
      return commits.request(Buffer.byteLength(JSON.stringify(changed)));
    },
    of: (device, role) => {
      const values = held.get(device.id)?.values;
      const shown: Record<string, unknown> = {};
      if (!values) return shown;
      for (const [name, declaration] of Object.entries(options.manifest(device).properties)) {
        // What came before the blueprint was assigned may be held under an alias.
        const held = name in values ? name : declaration.aliases.find((alias) => alias in values);
        if (held === undefined) continue;
        if (!roleIncludes(role, roleOfAccessLevel(declaration.access_level) ?? 'SYSTEM')) continue;
        const checked = checkDeviceValue(declaration, values[held]);
        if (checked.problem === undefined) shown[name] = checked.value;
      }
      return shown;
    },
    forget: (deviceId) => {
      held.delete(deviceId);
      complaints.forget(deviceId);
      unsaved.delete(deviceId);
    },
  };
}

/** The declared name behind an alias; a name that is neither stays as it is (blueprint-manifest.md section 13). */
function declaredName(properties: CompiledManifest['properties'], name: string): string {
  if (Object.hasOwn(properties, name)) return name;
  return Object.keys(properties).find((declared) => properties[declared]?.aliases.includes(name)) ?? name;
}

/** What is held under an alias from here on counts as the declared one's, so that it goes when that goes. */
function adopt(values: Record<string, unknown>, name: string, aliases: readonly string[]): void {
  for (const alias of aliases) {
    if (!(alias in values)) continue;
    if (!(name in values)) values[name] = values[alias];
    delete values[alias];
  }
}

function emptyObject(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

/** `null` removes. */
function keep(state: Held, name: string, value: unknown): void {
  const isHeld = name in state.values;
  state.sizeBytes -= sizeOf(name, state.values[name]);
  if (value !== null) state.sizeBytes += sizeOf(name, value);
  if (value === null) delete state.values[name];
  else state.values[name] = value;
  state.count += Number(value !== null) - Number(isHeld);
}

/** 0 of one that is not there. */
function sizeOf(name: string, value: unknown): number {
  if (value === undefined) return 0;
  return Buffer.byteLength(name) + Buffer.byteLength(JSON.stringify(value));
}

function newlyHeld(): Held {
  return heldOf({}, 0);
}

function heldOf(values: Record<string, unknown>, receivedAtMs: number): Held {
  const entries = Object.entries(values);
  return {
    values: Object.assign(emptyObject(), values),
    count: entries.length,
    sizeBytes: entries.reduce((sum, [name, value]) => sum + sizeOf(name, value), 0),
    receivedAtMs,
  };
}
