/** The newest value of each attribute by time of measurement, from memory (docs/interface/http.md#latest-values). */
import { type Role, roleIncludes, roleOfAccessLevel } from '../../lib/role.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { CompiledManifest } from '../blueprints/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { ALERTS_KEY, type TelemetryValue } from '../../protocol/telemetry.ts';
import type { Latest } from './model.ts';
import type { DevicePlan, Plans } from './plans.ts';

export type LatestAnswer = Latest | { warning: string };

export const NOT_RELEVANT = 'No value within the relevance interval.';
export const ATTRIBUTE_UNKNOWN = 'Attribute not found.';
export const DEVICE_UNKNOWN = 'Device is not found.';

export interface LatestValues {
  /** `attributes` undefined: all declared ones and `alerts`. */
  ofDevice(
    device: Device,
    attributes: readonly string[] | undefined,
    relevanceMs: number,
    role: Role,
  ): Map<string, LatestAnswer>;
  /** By device as asked for; unknown devices have a warning for each attribute. */
  ofDevices(
    wanted: ReadonlyMap<string, readonly string[]>,
    relevanceMs: number,
    role: Role,
  ): Map<string, Map<string, LatestAnswer>>;
  /** The newest value however old, and its age, for rules; infinite when nobody can tell. */
  value(device: Device, attribute: string): (Latest & { ageMs: number }) | undefined;
  /** Alerts raised now: `alerts` and every attribute of type alerts together. */
  raisedAlerts(device: Device): string[];
}

/** False when the manifest's access level of the attribute is above the role. */
export function mayRead(manifest: CompiledManifest, attribute: string, role: Role): boolean {
  const definition = Object.hasOwn(manifest.telemetry, attribute) ? manifest.telemetry[attribute] : undefined;
  if (!definition) return true;
  const needed = roleOfAccessLevel(definition.access_level);
  return needed === undefined || roleIncludes(role, needed);
}

export function createLatestValues(options: { plans: Plans; devices: Devices; clock: Clock }): LatestValues {
  const { plans, devices, clock } = options;

  function answer(plan: DevicePlan, attribute: string, relevanceMs: number, role: Role): LatestAnswer {
    const wanted = plan.attributes.get(attribute);
    const isDeclared =
      wanted !== undefined &&
      (attribute === ALERTS_KEY || Object.hasOwn(plan.manifest.telemetry, wanted.attribute));
    if (!isDeclared || !mayRead(plan.manifest, wanted.attribute, role)) return { warning: ATTRIBUTE_UNKNOWN };
    const latest = wanted.state?.latest;
    if (!latest || latest.ageMs(clock) > relevanceMs) return { warning: NOT_RELEVANT };
    return { timestampS: latest.timestampS, value: latest.value };
  }

  function ofDevice(
    device: Device,
    attributes: readonly string[] | undefined,
    relevanceMs: number,
    role: Role,
  ): Map<string, LatestAnswer> {
    const plan = plans.of(device);
    const names = attributes ?? [
      ...Object.keys(plan.manifest.telemetry).filter((name) => mayRead(plan.manifest, name, role)),
      ALERTS_KEY,
    ];
    return new Map(names.map((name) => [name, answer(plan, name, relevanceMs, role)]));
  }

  return {
    ofDevice,
    ofDevices: (wanted, relevanceMs, role) => {
      const answers = new Map<string, Map<string, LatestAnswer>>();
      for (const [idOrSlug, attributes] of wanted) {
        const device = devices.find(idOrSlug);
        answers.set(
          idOrSlug,
          device
            ? ofDevice(device, attributes, relevanceMs, role)
            : new Map(attributes.map((name) => [name, { warning: DEVICE_UNKNOWN }])),
        );
      }
      return answers;
    },
    value: (device, attribute) => {
      const latest = plans.of(device).attributes.get(attribute)?.state?.latest;
      return latest && { timestampS: latest.timestampS, value: latest.value, ageMs: latest.ageMs(clock) };
    },
    raisedAlerts: (device) => {
      const raised = new Set<string>();
      for (const plan of plans.of(device).alerts)
        for (const name of (plan.state?.latest?.value as TelemetryValue[] | undefined) ?? [])
          raised.add(name as string);
      return [...raised].sort();
    },
  };
}
