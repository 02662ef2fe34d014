/**
 * Properties of devices: what a device says about itself, merged message by message
 * (mqtt-device-protocol.md section 6). Devices repeat them every few seconds, so only changes reach the disk.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Limits } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { type Role, roleIncludes, roleOfAccessLevel } from '../../platform/http/index.ts';
import type { GroupCommit } from '../../platform/sqlite/index.ts';
import { checkDeviceValue, type CompiledManifest } from '../blueprints/index.ts';
import type { Device } from './model.ts';
import type { DeviceStore } from './store.ts';

const COMPLAINT_INTERVAL_MS = 3_600_000;
const COMPLAINTS_PER_DEVICE = 100;

/** Reserved: the device's own time. */
const TIMESTAMP_KEY = 'timestamp';

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
  /** A value was not taken, with a sentence for a person; at most once an hour and property. */
  rejected: (device: Device, property: string, message: string) => void;
}): Properties {
  const { store, commits, limits } = options;
  const held = new Map<string, Held>(
    store
      .allProperties()
      .map(({ deviceId, values, receivedAtMs }) => [
        deviceId,
        { values: Object.assign(emptyObject(), values), receivedAtMs },
      ]),
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

  /** Per device, when each property was last complained about. */
  const complaints = new Map<string, Map<string, number>>();

  function reject(device: Device, property: string, message: string): void {
    rejectedCount.inc();
    const nowMs = options.clock.monotonicMs();
    let known = complaints.get(device.id);
    if (!known) complaints.set(device.id, (known = new Map()));
    if (nowMs - (known.get(property) ?? -COMPLAINT_INTERVAL_MS) < COMPLAINT_INTERVAL_MS) return;
    // Names are the device's; a hostile one makes new ones for ever.
    if (known.size >= COMPLAINTS_PER_DEVICE) known.clear();
    known.set(property, nowMs);
    options.rejected(device, property, message);
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
    if (!(name in state.values) && Object.keys(state.values).length >= limits.propertiesPerDevice) {
      reject(device, name, `The device has more than ${limits.propertiesPerDevice} properties.`);
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
      if (value === null) delete state.values[name];
      else state.values[name] = value;
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
        const held = [name, ...declaration.aliases].find((known) => known in values);
        if (held === undefined) continue;
        if (!roleIncludes(role, roleOfAccessLevel(declaration.access_level) ?? 'SYSTEM')) continue;
        const checked = checkDeviceValue(declaration, values[held]);
        if (checked.problem === undefined) shown[name] = checked.value;
      }
      return shown;
    },
    forget: (deviceId) => {
      held.delete(deviceId);
      complaints.delete(deviceId);
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

function newlyHeld(): Held {
  return { values: emptyObject(), receivedAtMs: 0 };
}
