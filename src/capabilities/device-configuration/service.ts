import { Emitter } from '../../lib/emitter.ts';
import {
  errorOfProblems,
  insufficientRole,
  invalidBody,
  invalidQuery,
  notFound,
  type Problem,
} from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { mapped } from '../../lib/members.ts';
import type { Clock } from '../../platform/clock/index.ts';
import { type Role, roleIncludes, roleNeededFor } from '../../lib/role.ts';
import type { SecretSealer } from '../../platform/files/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import {
  checkWritableValue,
  type CompiledArgument,
  type CompiledConfigurationGroup,
  type CompiledManifest,
} from '../blueprints/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import {
  effectiveValues,
  groupOf,
  isKept,
  parameterOf,
  problemOf,
  visibleValues,
  type ConfigurationEvents,
  type ConfigurationValues,
  type DeviceSide,
  type StoredValue,
} from './model.ts';
import { createConfigurationStore } from './store.ts';

interface DeviceConfigurationOptions {
  database: Database;
  sealer: SecretSealer;
  clock: Clock;
  log: Log;
  devices: Devices;
}

/** A change of one group. */
export interface ConfigurationChange {
  /** Parameter → new value; null resets one that is not required. */
  set: Record<string, unknown>;
  reset: readonly string[];
}

/** The use cases of device configuration. */
export class DeviceConfiguration {
  readonly events: Emitter<ConfigurationEvents>;
  /** Set by the capability that reaches the devices. */
  side: DeviceSide | undefined;
  readonly #options: DeviceConfigurationOptions;
  readonly #store;

  constructor(options: DeviceConfigurationOptions) {
    const { database, sealer, devices, log } = options;
    this.#options = options;
    this.#store = createConfigurationStore(database, sealer);
    this.events = new Emitter(log);
    devices.events.on('blueprint_assigned', 'device-configuration', ({ device }) => this.#prune(device));
  }

  /** The present record of the device. @throws GatewayError device_not_found (404) */
  current({ id }: Device): Device {
    return this.#options.devices.require(id);
  }

  /** All groups as the device gets them: defaults applied, sensitive values in clear, unset ones absent. */
  valuesForDevice(device: Device): Record<string, ConfigurationValues> {
    const { configuration } = this.#options.devices.manifest(device);
    return mapped(configuration, (group, name) => this.#values(device, name, group));
  }

  /** Values of sensitive parameters, to be removed from texts; they are never shown. */
  secretsOf(device: Device): string[] {
    const { configuration } = this.#options.devices.manifest(device);
    return Object.entries(configuration).flatMap(([name, group]) =>
      Object.entries(this.#values(device, name, group)).flatMap(([parameter, value]) => {
        const isText = typeof value === 'string' || typeof value === 'number';
        return isText && group.parameters[parameter]?.sensitive === true ? [String(value)] : [];
      }),
    );
  }

  /**
   * Visible values of a group: set ones, else defaults; parameters with neither are absent. @throws
   * configuration_group_not_found, insufficient_role, invalid_query for a name the group does not have
   */
  get(device: Device, name: string, role: Role, names?: readonly string[]): ConfigurationValues {
    const group = this.#group(device, name, role);
    const unknown = names?.find((parameter) => !Object.hasOwn(group.parameters, parameter));
    if (unknown !== undefined)
      throw invalidQuery('param_names', `Configuration group "${name}" has no parameter "${unknown}".`);
    return visibleValues(group, this.#values(device, name, group), names);
  }

  /** Names of sensitive parameters of a group that have been set; the values are never given out. @throws as get */
  hidden(device: Device, name: string, role: Role): string[] {
    const group = this.#group(device, name, role);
    return [...this.#store.group(device.id, name)]
      .filter(([parameter, stored]) => {
        const declared = group.parameters[parameter];
        return declared?.sensitive === true && isKept(declared, stored);
      })
      .map(([parameter]) => parameter);
  }

  /**
   * Values of the whole group as the device would get them after the change; undefined: they are the same.
   * @throws as update
   */
  preview(
    device: Device,
    name: string,
    role: Role,
    change: ConfigurationChange | 'reset all',
  ): ConfigurationValues | undefined {
    const group =
      change === 'reset all' ? this.#group(device, name, role) : this.#checked(device, name, role, change);
    const present = this.#store.group(device.id, name);
    const future =
      change === 'reset all' ? new Map<string, StoredValue>() : changed(name, group, present, change);
    const values = effectiveValues(group, future);
    return JSON.stringify(values) === JSON.stringify(effectiveValues(group, present)) ? undefined : values;
  }

  /** Visible values, replaced by values that the device read and the group declares and allows. */
  withRead(
    device: Device,
    name: string,
    stored: ConfigurationValues,
    read: ConfigurationValues,
    names?: readonly string[],
  ): ConfigurationValues {
    const group = groupOf(this.#options.devices.manifest(device), name);
    if (group === undefined) return stored;
    const allowed: ConfigurationValues = {};
    for (const [parameter, raw] of Object.entries(read)) {
      const declared = Object.hasOwn(group.parameters, parameter) ? group.parameters[parameter] : undefined;
      const { value } = declared ? checkWritableValue(declared, raw, true) : {};
      if (declared && value !== undefined && problemOf(declared, value) === undefined)
        allowed[parameter] = value;
    }
    return visibleValues(group, { ...stored, ...allowed }, names);
  }

  /** Changes all or nothing; returns the visible values. @throws as get, invalid_body, invalid_configuration */
  update(device: Device, name: string, role: Role, change: ConfigurationChange): ConfigurationValues {
    const group = this.#checked(device, name, role, change);
    return this.#change(device, name, group, () => {
      const future = changed(name, group, this.#store.group(device.id, name), change);
      for (const parameter of [...change.reset, ...Object.keys(change.set)]) {
        const stored = future.get(parameter);
        if (stored) this.#store.put(device.id, stored, this.#options.clock.wallMs());
        else this.#store.remove(device.id, name, parameter);
      }
    });
  }

  /** Removes every value of the group; returns the visible values. @throws as get */
  resetAll(device: Device, name: string, role: Role): ConfigurationValues {
    const group = this.#group(device, name, role);
    return this.#change(device, name, group, () => this.#store.removeGroup(device.id, name));
  }

  /** The group, when the change may be made. @throws as update */
  #checked(
    device: Device,
    name: string,
    role: Role,
    change: ConfigurationChange,
  ): CompiledConfigurationGroup {
    const group = this.#group(device, name, role);
    const twice = change.reset.find((parameter) => Object.hasOwn(change.set, parameter));
    if (twice !== undefined)
      throw invalidBody('reset', `Parameter "${twice}" cannot be set and reset in one request.`);
    const refused = errorOfProblems('unprocessable', problemsOf(group, change));
    if (refused !== undefined) throw refused;
    return group;
  }

  /** Runs the change in one transaction and emits an event when it changed a value. */
  #change(
    device: Device,
    name: string,
    group: CompiledConfigurationGroup,
    write: () => void,
  ): ConfigurationValues {
    const before = this.#values(device, name, group);
    const values = this.#options.database.transaction(() => {
      write();
      return this.#values(device, name, group);
    });
    if (JSON.stringify(values) !== JSON.stringify(before)) {
      this.#options.log.info('configuration changed', { device_id: device.id, group: name });
      this.events.emit('configuration_changed', { device, group: name, values });
    }
    return visibleValues(group, values, undefined);
  }

  #values(device: Device, name: string, group: CompiledConfigurationGroup): ConfigurationValues {
    return effectiveValues(group, this.#store.group(device.id, name));
  }

  #group(device: Device, name: string, role: Role): CompiledConfigurationGroup {
    const manifest = this.#options.devices.manifest(device);
    const group = groupOf(manifest, name);
    if (group === undefined)
      throw notFound('configuration_group_not_found', `The device has no configuration group "${name}".`);
    const required = requiredRole(manifest, name);
    if (!roleIncludes(role, required))
      throw insufficientRole(`Configuration group "${name}" needs the role ${required}.`, required, role);
    return group;
  }

  /**
   * Called before a person of this role hands the device to another script or other credentials, which get every value in
   * clear: removes sensitive values of groups above that role. Within a transaction.
   */
  dropSecretsAbove(role: Role, device: Device): void {
    const manifest = this.#options.devices.manifest(device);
    const dropped = this.#store
      .ofDevice(device.id)
      .filter(({ group, isSensitive }) => isSensitive && !roleIncludes(role, requiredRole(manifest, group)));
    for (const { group, parameter } of dropped) this.#store.remove(device.id, group, parameter);
    if (dropped.length === 0) return;
    this.#options.log.warn(
      'sensitive configuration values dropped with a handover below their access level',
      {
        device_id: device.id,
        role,
        parameters: dropped.map(({ group, parameter }) => `${group}.${parameter}`),
      },
    );
  }

  /** Removes values that do not fit the new blueprint; reading leaves them out in any case. */
  #prune(device: Device): void {
    const manifest = this.#options.devices.manifest(device);
    const dropped = this.#store
      .ofDevice(device.id)
      .filter((stored) => !isKept(parameterOf(manifest, stored), stored));
    if (dropped.length === 0) return;
    this.#options.database.transaction(() => {
      for (const { group, parameter } of dropped) this.#store.remove(device.id, group, parameter);
    });
    this.#options.log.info('configuration values dropped with the former blueprint', {
      device_id: device.id,
      parameters: dropped.map(({ group, parameter }) => `${group}.${parameter}`),
    });
  }
}

/** Least role for a group; SYSTEM, which nobody has, for one that is not declared. */
function requiredRole(manifest: CompiledManifest, group: string): Role {
  return roleNeededFor(groupOf(manifest, group)?.access_level ?? '');
}

/** The stored values of a group after a change. */
function changed(
  name: string,
  group: CompiledConfigurationGroup,
  present: ReadonlyMap<string, StoredValue>,
  change: ConfigurationChange,
): Map<string, StoredValue> {
  const future = new Map(present);
  for (const parameter of change.reset) future.delete(parameter);
  for (const [parameter, value] of Object.entries(change.set)) {
    const declared = group.parameters[parameter];
    if (declared === undefined || isReset(declared, value)) future.delete(parameter);
    else future.set(parameter, storedOf(name, parameter, declared, value));
  }
  return future;
}

/** One problem `invalid_configuration` {parameter} for each name or value that the group does not allow. */
function problemsOf(group: CompiledConfigurationGroup, change: ConfigurationChange): Problem[] {
  const problems: Problem[] = [];
  const report = (parameter: string, message: string): void =>
    void problems.push({ code: 'invalid_configuration', message, details: { parameter } });
  for (const name of [...Object.keys(change.set), ...change.reset]) {
    if (problems.length >= LIMITS.http.problems) break;
    const parameter = Object.hasOwn(group.parameters, name) ? group.parameters[name] : undefined;
    if (parameter === undefined) {
      report(
        name,
        `Unknown parameter "${name}"; the group has: ${Object.keys(group.parameters).join(', ')}.`,
      );
      continue;
    }
    if (!Object.hasOwn(change.set, name)) continue;
    const value = change.set[name];
    if (isReset(parameter, value)) continue;
    const problem = valueProblem(parameter, value);
    if (problem !== undefined) report(name, `Parameter "${name}" ${problem}.`);
  }
  return problems;
}

/** Null takes back the value of an optional parameter; where null is a value of its own, it is one. */
function isReset(parameter: CompiledArgument, value: unknown): boolean {
  return value === null && !parameter.required && parameter.type !== 'json';
}

function valueProblem(parameter: CompiledArgument, value: unknown): string | undefined {
  if (value === null && parameter.required && parameter.type !== 'json')
    return 'is required and cannot be null';
  const { valueBytes } = LIMITS.deviceConfiguration;
  if (Buffer.byteLength(JSON.stringify(value)) > valueBytes) return `is larger than ${valueBytes} bytes`;
  return problemOf(parameter, value);
}

function storedOf(group: string, parameter: string, declared: CompiledArgument, value: unknown) {
  return { group, parameter, value, type: declared.type, isSensitive: declared.sensitive === true };
}
