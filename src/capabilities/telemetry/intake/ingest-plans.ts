/** The declarations of a device's manifest, prepared for the hot path. */
import {
  checkDeviceValue,
  type CompiledAttribute,
  type CompiledManifest,
  type ValueDeclaration,
} from '../../blueprints/index.ts';
import type { MonotonicMs } from '../../../lib/time.ts';
import type { Device, Devices } from '../../devices/index.ts';
import {
  ALERT_DETAILS_KEY,
  ALERTS_KEY,
  notInEnum,
  type Rejection,
  schemaMismatch,
  type TelemetryType,
  type TelemetryValue,
} from '../../../protocol/telemetry.ts';
import type { Shape } from '#telemetry-store';
import type { LatestValue } from './latest-value.ts';
import type { SeriesRegistry, SeriesState } from './series-registry.ts';

export interface AttributePlan {
  /** Declared name; aliases share the plan. */
  readonly attribute: string;
  readonly type: TelemetryType;
  readonly allowed: ReadonlySet<unknown> | undefined;
  /** For types that have a schema or may be an empty Lua table. */
  readonly declaration: ValueDeclaration | undefined;
  /** Undefined until the first value arrives. */
  state: SeriesState | undefined;
  /** The newest value from before this manifest, if this one does not accept it. */
  readonly unfit: TelemetryValue | undefined;
}

export interface DevicePlan {
  readonly manifest: CompiledManifest;
  /** By name and alias. */
  readonly attributes: ReadonlyMap<string, AttributePlan>;
  /** The attributes that report alerts. */
  readonly alerts: readonly AttributePlan[];
  /** Undeclared attributes are dropped without a report. */
  readonly isSilent: boolean;
  /** Recent combinations of series in one message. */
  shapes: Shape[];
  /** When a value of the device arrived last; undefined: not since this run or this manifest began. */
  heardAtMs: MonotonicMs | undefined;
}

const STRUCTURED: ReadonlySet<TelemetryType> = new Set(['array_of_strings', 'json', 'object', 'alerts']);

export class IngestPlans {
  readonly #plans = new Map<string, DevicePlan>();
  readonly #devices: Pick<Devices, 'manifest'>;
  readonly #registry: SeriesRegistry;

  constructor(devices: Pick<Devices, 'manifest'>, registry: SeriesRegistry) {
    this.#devices = devices;
    this.#registry = registry;
  }

  /** The plan of the device's present manifest. */
  of(device: Device): DevicePlan {
    const manifest = this.#devices.manifest(device);
    const known = this.#plans.get(device.id);
    if (known?.manifest === manifest) return known;
    const plan = createPlan(device, manifest, this.#registry);
    this.#plans.set(device.id, plan);
    return plan;
  }

  forget(deviceId: string): void {
    this.#plans.delete(deviceId);
  }
}

function createPlan(device: Device, manifest: CompiledManifest, registry: SeriesRegistry): DevicePlan {
  const attributes = new Map<string, AttributePlan>();
  const declared: AttributePlan[] = [];
  const add = (attribute: string, type: TelemetryType, definition?: CompiledAttribute): void => {
    const judging = {
      allowed: definition?.enum && new Set<unknown>(definition.enum),
      declaration: definition && STRUCTURED.has(type) ? definition : undefined,
    };
    const state = registry.find(device.id, attribute, type);
    const value = state?.latest?.value;
    const unfit = value !== undefined && mismatchOf(judging, value) ? value : undefined;
    const plan = { attribute, type, ...judging, state, unfit };
    declared.push(plan);
    attributes.set(attribute, plan);
  };
  for (const [name, definition] of Object.entries(manifest.telemetry)) add(name, definition.type, definition);
  for (const [name, definition] of Object.entries(manifest.telemetry))
    for (const alias of definition.aliases) {
      const plan = attributes.get(name);
      if (plan && !attributes.has(alias)) attributes.set(alias, plan);
    }
  // The two reserved keys belong to every device, whatever its manifest says.
  add(ALERTS_KEY, 'alerts');
  add(ALERT_DETAILS_KEY, 'object');
  return {
    manifest,
    attributes,
    alerts: declared.filter((plan) => plan.type === 'alerts'),
    isSilent: isSilent(manifest),
    shapes: [],
    heardAtMs: undefined,
  };
}

/** Why a value of the declared type is not accepted. */
export function mismatchOf(
  { declaration, allowed }: Pick<AttributePlan, 'declaration' | 'allowed'>,
  value: TelemetryValue,
): Rejection | undefined {
  const problem = declaration && checkDeviceValue(declaration, value).problem;
  if (problem !== undefined) return schemaMismatch(`The value ${problem}.`);
  return allowed && !allowed.has(value) ? notInEnum(value) : undefined;
}

/** The newest value; undefined if only an earlier manifest accepted it. */
export function latestOf({ state, unfit }: AttributePlan): LatestValue | undefined {
  const latest = state?.latest;
  return latest?.value === unfit ? undefined : latest;
}

/** The declared attribute that a name or an alias means; `alerts` belongs to every device. */
export function declaredAttribute(
  { attributes, manifest }: DevicePlan,
  name: string,
): AttributePlan | undefined {
  const found = attributes.get(name);
  if (!found || found.attribute === ALERTS_KEY) return found;
  return Object.hasOwn(manifest.telemetry, found.attribute) ? found : undefined;
}

/** Attributes of every device. */
const RESERVED = new Set<string>([ALERTS_KEY, ALERT_DETAILS_KEY]);

/**
 * The manifest declares nothing, or has `.platform.silently_drop_unknown_telemetry: true`
 * (docs/interface/mqtt-devices.md#telemetry).
 */
function isSilent(manifest: CompiledManifest): boolean {
  if (Object.keys(manifest.telemetry).every((name) => RESERVED.has(name))) return true;
  const platform = manifest['.platform'];
  return (
    typeof platform === 'object' &&
    platform !== null &&
    (platform as Record<string, unknown>)['silently_drop_unknown_telemetry'] === true
  );
}
