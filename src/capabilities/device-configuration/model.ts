/**
 * Configuration of devices: named groups of parameters that the manifest declares and people set. Source:
 * docs/interface/http.md#configuration, docs/interface/blueprints.md#configuration.
 */
import { parseTimestampMs } from '../../lib/time.ts';
import type { Device } from '../devices/index.ts';
import {
  checkWritableValue,
  type CompiledArgument,
  type CompiledConfigurationGroup,
  type CompiledManifest,
} from '../blueprints/index.ts';
import type { deviceConfiguration } from './tables.ts';

export type ConfigurationValues = Record<string, unknown>;

/** Emitted after commit. */
export interface ConfigurationEvents {
  /** Values of the whole group as the device gets them: defaults applied, sensitive ones in clear. */
  configuration_changed: { device: Device; group: string; values: ConfigurationValues };
}

/** The device's part in its configuration. */
export interface DeviceSide {
  /** Why the values of the whole group must not be stored; undefined: they may. Never rejects. */
  judge(device: Device, group: string, values: ConfigurationValues): Promise<string | undefined>;
  /** Values that the device reads itself; undefined: stored values count. Never rejects. */
  read(device: Device, group: string): Promise<ConfigurationValues | undefined>;
}

/**
 * A stored value, with the type and sensitivity of its parameter when it was set. JSON.stringify writes its
 * integers beyond 2^53 with all digits.
 */
export type StoredValue = Omit<typeof deviceConfiguration.$inferSelect, 'deviceId' | 'updatedAtMs'>;

/** Values of a group that count under its present declaration, defaults filled in, in the order of the manifest. */
export function effectiveValues(
  group: CompiledConfigurationGroup,
  stored: ReadonlyMap<string, StoredValue>,
): ConfigurationValues {
  const values: [string, unknown][] = [];
  for (const [name, parameter] of Object.entries(group.parameters)) {
    const own = stored.get(name);
    if (own !== undefined && isKept(parameter, own)) values.push([name, own.value]);
    else if (parameter.default !== undefined) values.push([name, parameter.default]);
  }
  return Object.fromEntries(values);
}

/** The values that a caller may see: sensitive ones are left out, whatever the role. */
export function visibleValues(
  group: CompiledConfigurationGroup,
  values: ConfigurationValues,
  names: readonly string[] | undefined,
): ConfigurationValues {
  return Object.fromEntries(
    Object.entries(values).filter(
      ([name]) => !group.parameters[name]?.sensitive && (names === undefined || names.includes(name)),
    ),
  );
}

/**
 * True when a value set under an earlier declaration counts under this one: same type, still allowed, and not
 * brought into the open by a blueprint that does not call it sensitive.
 */
export function isKept(parameter: CompiledArgument | undefined, stored: StoredValue): boolean {
  if (parameter === undefined || parameter.type !== stored.type) return false;
  if (stored.isSensitive && !parameter.sensitive) return false;
  return problemOf(parameter, stored.value) === undefined;
}

/** The stored value's declaration in a manifest; undefined when there is none. */
export function parameterOf(manifest: CompiledManifest, stored: StoredValue): CompiledArgument | undefined {
  return groupOf(manifest, stored.group)?.parameters[stored.parameter];
}

export function groupOf(manifest: CompiledManifest, name: string): CompiledConfigurationGroup | undefined {
  return Object.hasOwn(manifest.configuration, name) ? manifest.configuration[name] : undefined;
}

/** The fault of a value, as the end of a sentence about the parameter; undefined: it may be set. */
export function problemOf(parameter: CompiledArgument, value: unknown): string | undefined {
  const { problem } = checkWritableValue(parameter, value);
  if (problem !== undefined) return problem;
  return typeof value === 'string' ? formatProblem(parameter.format, value) : undefined;
}

const URI = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/[^\s/?#][^\s]*$/;

/** Formats are hints; those whose form is known are checked (docs/interface/lua-devices.md#connection-uris). */
function formatProblem(format: string | undefined, value: string): string | undefined {
  if (format === 'connection_uri' && !URI.test(value))
    return 'must be a connection URI such as tcp://192.168.0.10:502';
  if (format === 'datetime' && parseTimestampMs(value) === undefined)
    return 'must be an RFC 3339 timestamp such as 2026-03-01T08:00:00Z';
  return undefined;
}
