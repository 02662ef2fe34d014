/**
 * Properties of devices, merged message by message (docs/interface/mqtt-devices.md#properties). Devices repeat them every
 * few seconds, so only changes are written to the disk.
 */
import { isDeepStrictEqual } from 'node:util';
import { ReportThrottle } from '../../lib/report-throttle.ts';
import type { Limits } from '../../lib/limits.ts';
import { memoized } from '../../lib/memoized.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import { type Role, roleIncludes, roleNeededFor } from '../../lib/role.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { GroupCommit } from '../../platform/sqlite/index.ts';
import { unstorableNumber, writableJson } from '../../lib/json.ts';
import { checkWritableValue, type CompiledManifest } from '../blueprints/index.ts';
import type { Device } from './model.ts';
import type { DeviceStore } from './store.ts';

/** Reserved: the device's own time. */
const TIMESTAMP_KEY = 'timestamp';
/** Subjects of reports; no property has such a name. */
const TOO_MANY = ' too many';
const TOO_LARGE = ' too large';

export interface PropertyMessage {
  device: Device;
  body: Record<string, unknown>;
  receivedAtMs: EpochMs;
}

interface Held {
  /** For JSON.stringify, which writes integers beyond 2^53 with all their digits. */
  values: Record<string, unknown>;
  /** Number of `values`; counting them for every new name would take quadratic time. */
  count: number;
  /** Size of names and values as JSON. */
  sizeBytes: number;
  receivedAtMs: EpochMs;
  /** Cache of the values that a role may see by a manifest, until a value changes. */
  shown?: { manifest: CompiledManifest; role: Role; values: Readonly<Record<string, unknown>> };
}

interface PropertiesOptions {
  store: DeviceStore;
  commits: GroupCommit;
  metrics: Metrics;
  clock: Clock;
  limits: Limits['devices'];
  manifest: (device: Device) => CompiledManifest;
  /** Called with the accepted values of a message once they are on disk; also for unchanged values. */
  received: (device: Device, values: Record<string, unknown>, receivedAtMs: EpochMs) => void;
  /** Called for a rejected value with a sentence for a person; once an hour and property, up to a limit per device. */
  rejected: (device: Device, property: string, message: string) => void;
}

export class Properties {
  readonly #options: PropertiesOptions;
  readonly #held: Map<string, Held>;
  /** Devices with changes that are not on disk yet, with the values accepted since. */
  readonly #unsaved = new Map<string, { device: Device; received: Record<string, unknown> }>();
  readonly #rejected;
  readonly #reports;

  constructor(options: PropertiesOptions) {
    this.#options = options;
    const { commits, limits, metrics, store } = options;
    this.#held = new Map(
      store
        .allProperties()
        .map(({ deviceId, values, receivedAtMs }) => [deviceId, heldOf(values, receivedAtMs)]),
    );
    this.#rejected = metrics.counter(
      'properties_rejected_total',
      'Property values of devices that were not taken.',
    );
    this.#reports = new ReportThrottle({
      intervalMs: limits.reportIntervalMs,
      perOwner: limits.reportsPerDevice,
      owners: limits.reportedDevices,
    });
    commits.join({ write: () => this.#write(), committed: () => this.#tell() });
  }

  /** Merges one message; resolves when its values are on disk, at once when none has changed. */
  take({ device, body, receivedAtMs }: PropertyMessage): Promise<void> | void {
    const state = this.#held.getOrInsertComputed(device.id, () => heldOf({}, 0));
    state.receivedAtMs = receivedAtMs;
    const { received, changed } = this.#merge(device, state, body);
    const waiting = this.#unsaved.get(device.id);
    const isChanged = Object.keys(changed).length > 0;
    if (!waiting && !isChanged) return this.#options.received(device, received, receivedAtMs);
    this.#unsaved.set(device.id, {
      device,
      received: Object.assign(waiting?.received ?? emptyObject(), received),
    });
    return this.#options.commits.request(isChanged ? Buffer.byteLength(JSON.stringify(changed)) : 0);
  }

  /** Values that the manifest declares and accepts, and that the role may see. */
  of(device: Device, role: Role): Readonly<Record<string, unknown>> {
    const state = this.#held.get(device.id);
    if (!state) return {};
    const manifest = this.#options.manifest(device);
    if (state.shown?.manifest !== manifest || state.shown.role !== role)
      state.shown = { manifest, role, values: visible(state.values, manifest, role) };
    return state.shown.values;
  }

  forget(deviceId: string): void {
    this.#held.delete(deviceId);
    this.#reports.forget(deviceId);
    this.#unsaved.delete(deviceId);
  }

  #write(): void {
    for (const [deviceId] of this.#unsaved) {
      const { values, receivedAtMs } = this.#held.get(deviceId) ?? heldOf({}, 0);
      this.#options.store.putProperties(deviceId, JSON.stringify(values), receivedAtMs);
    }
  }

  #tell(): void {
    const saved = [...this.#unsaved.values()];
    this.#unsaved.clear();
    for (const { device, received } of saved)
      this.#options.received(device, received, this.#held.get(device.id)?.receivedAtMs ?? 0);
  }

  /** The accepted values of a message, and those of them that changed; `null` for removed ones. */
  #merge(device: Device, state: Held, body: Record<string, unknown>) {
    const most = this.#options.limits.propertiesPerDevice;
    const [received, changed] = [emptyObject(), emptyObject()];
    const { properties } = this.#options.manifest(device);
    const declaredNames = declaredNamesOf(properties);
    let seen = 0;
    for (const sent in body) {
      if (sent === TIMESTAMP_KEY) continue;
      if (++seen > most) {
        this.#reject(device, sent, `A message has more than ${most} properties.`, TOO_MANY);
        break;
      }
      const name = declaredNames.get(sent) ?? sent;
      if (Object.hasOwn(properties, name)) adopt(state, name, properties[name]?.aliases ?? []);
      const value = this.#accepted(device, state, name, body[sent]);
      if (value === undefined || (value === null && !(name in state.values))) continue;
      received[name] = value;
      if (isDeepStrictEqual(value, state.values[name] ?? null)) continue;
      changed[name] = value;
      keep(state, name, value);
    }
    return { received, changed };
  }

  /** The value to keep, `null` to remove the property, undefined to ignore it. */
  #accepted(device: Device, state: Held, name: string, sent: unknown): unknown {
    const { propertyNameLength, propertyBytes } = this.#options.limits;
    if (sent === null) return null;
    if (name.length > propertyNameLength)
      return this.#reject(device, name.slice(0, propertyNameLength), 'The name of a property is too long.');
    const unstorable = unstorableNumber(sent);
    if (unstorable) {
      const what = unstorable.isInteger ? 'an integer of more than 64 bits' : 'a number that is not finite';
      return this.#reject(device, name, `Property "${name}" has ${what}; it was dropped.`);
    }
    const value = writableJson(sent);
    const { properties } = this.#options.manifest(device);
    // A device may name a property `constructor`, which every object inherits.
    const declaration = Object.hasOwn(properties, name) ? properties[name] : undefined;
    const checked = declaration ? checkWritableValue(declaration, value, true) : { value };
    if (checked.problem !== undefined)
      return this.#reject(device, name, `Property "${name}" ${checked.problem}; it was dropped.`);
    if (Buffer.byteLength(JSON.stringify(checked.value)) > propertyBytes)
      return this.#reject(device, name, `Property "${name}" has more than ${propertyBytes} bytes.`);
    const full = this.#fullFor(state, name, checked.value);
    return full ? this.#reject(device, name, full.sentence, full.subject) : checked.value;
  }

  /** Why the device has no room for the value; undefined when it has. */
  #fullFor(state: Held, name: string, value: unknown): { sentence: string; subject: string } | undefined {
    const { propertiesPerDevice, propertiesBytesPerDevice } = this.#options.limits;
    if (!(name in state.values) && state.count >= propertiesPerDevice)
      return { sentence: `The device has more than ${propertiesPerDevice} properties.`, subject: TOO_MANY };
    const grownBytes = sizeOf(name, value) - sizeOf(name, state.values[name]);
    if (grownBytes <= 0 || state.sizeBytes + grownBytes <= propertiesBytesPerDevice) return undefined;
    const sentence = `The properties of the device have more than ${propertiesBytesPerDevice} bytes together.`;
    return { sentence, subject: TOO_LARGE };
  }

  /** @param subject of the report; the name of the property unless all properties share the fault */
  #reject(device: Device, property: string, sentence: string, subject = property): undefined {
    const { clock, rejected } = this.#options;
    this.#rejected.inc();
    const message = this.#reports.report(device.id, subject, sentence, clock.monotonicMs());
    if (message !== undefined) rejected(device, property, message);
  }
}

function visible(
  values: Readonly<Record<string, unknown>>,
  { properties }: CompiledManifest,
  role: Role,
): Record<string, unknown> {
  const shown: Record<string, unknown> = {};
  for (const [name, declaration] of Object.entries(properties)) {
    // A value from before the blueprint was assigned may be held under an alias.
    const held = name in values ? name : declaration.aliases.find((alias) => alias in values);
    if (held === undefined) continue;
    if (!roleIncludes(role, roleNeededFor(declaration.access_level))) continue;
    const checked = checkWritableValue(declaration, values[held], true);
    if (checked.problem === undefined) shown[name] = checked.value;
  }
  return shown;
}

/** Declared names by themselves and by their aliases; a name that is neither stays as it is. */
const declaredNamesOf = memoized(
  (properties: CompiledManifest['properties']): ReadonlyMap<string, string> => {
    const names = new Map(
      Object.entries(properties)
        .toReversed()
        .flatMap(([name, { aliases }]) => aliases.map((alias): [string, string] => [alias, name])),
    );
    for (const name of Object.keys(properties)) names.set(name, name);
    return names;
  },
);

/** Moves values held under aliases to the declared name, so that they are removed with it. */
function adopt(state: Held, name: string, aliases: readonly string[]): void {
  const { values } = state;
  for (const alias of aliases) {
    if (!(alias in values)) continue;
    delete state.shown;
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
  delete state.shown;
  state.sizeBytes -= sizeOf(name, state.values[name]);
  if (value !== null) state.sizeBytes += sizeOf(name, value);
  if (value === null) delete state.values[name];
  else state.values[name] = value;
  state.count += Number(value !== null) - Number(isHeld);
}

/** 0 for an absent value. */
function sizeOf(name: string, value: unknown): number {
  if (value === undefined) return 0;
  return Buffer.byteLength(name) + Buffer.byteLength(JSON.stringify(value));
}

function heldOf(values: Record<string, unknown>, receivedAtMs: EpochMs): Held {
  const entries = Object.entries(values);
  return {
    values: Object.assign(emptyObject(), values),
    count: entries.length,
    sizeBytes: entries.reduce((sum, [name, value]) => sum + sizeOf(name, value), 0),
    receivedAtMs,
  };
}
