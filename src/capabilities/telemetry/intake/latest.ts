/** The newest value of each attribute by time of measurement, from memory (docs/interface/http.md#latest-values). */
import { type Role, roleIncludes, roleOfAccessLevel } from '../../../lib/role.ts';
import type { DurationMs, DurationS, EpochS, MonotonicMs } from '../../../lib/time.ts';
import type { Clock } from '../../../platform/clock/index.ts';
import type { CompiledManifest } from '../../blueprints/index.ts';
import type { Device, Devices } from '../../devices/index.ts';
import { ALERTS_KEY } from '../../../protocol/telemetry.ts';
import type { ReportedAlerts } from './events.ts';
import { declaredAttribute, type DevicePlan, type IngestPlans, latestOf } from './ingest-plans.ts';
import type { Latest } from '#telemetry-store';

export type LatestAnswer = Latest | { warning: string };

const NOT_RELEVANT = 'No value within the relevance interval.';
const ATTRIBUTE_UNKNOWN = 'Attribute not found.';
const DEVICE_UNKNOWN = 'Device is not found.';

/** False when the manifest's access level of the attribute is above the role. */
export function mayRead(manifest: CompiledManifest, attribute: string, role: Role): boolean {
  return roleIncludes(role, neededRole(manifest, attribute));
}

function neededRole(manifest: CompiledManifest, attribute: string): Role {
  const definition = Object.hasOwn(manifest.telemetry, attribute) ? manifest.telemetry[attribute] : undefined;
  return (definition && roleOfAccessLevel(definition.access_level)) ?? 'READONLY';
}

export class LatestValues {
  readonly #plans: IngestPlans;
  readonly #devices: Pick<Devices, 'find'>;
  readonly #clock: Clock;

  constructor(options: { plans: IngestPlans; devices: Pick<Devices, 'find'>; clock: Clock }) {
    this.#plans = options.plans;
    this.#devices = options.devices;
    this.#clock = options.clock;
  }

  /** @param attributes absent: all declared ones and `alerts` */
  ofDevice(
    device: Device,
    attributes: readonly string[] | undefined,
    relevanceMs: DurationMs,
    role: Role,
  ): Map<string, LatestAnswer> {
    const plan = this.#plans.of(device);
    const names = attributes ?? [
      ...Object.keys(plan.manifest.telemetry).filter((name) => mayRead(plan.manifest, name, role)),
      ALERTS_KEY,
    ];
    const nowMs = this.#clock.monotonicMs();
    const answers = new Map<string, LatestAnswer>();
    for (const name of names) answers.set(name, answerOf(plan, name, role, relevanceMs, nowMs));
    return answers;
  }

  /** By device as requested; an unknown device has a warning for each attribute. */
  ofDevices(
    wanted: ReadonlyMap<string, readonly string[]>,
    relevanceMs: DurationMs,
    role: Role,
  ): Map<string, Map<string, LatestAnswer>> {
    const answers = new Map<string, Map<string, LatestAnswer>>();
    for (const [idOrSlug, attributes] of wanted) {
      const device = this.#devices.find(idOrSlug);
      answers.set(
        idOrSlug,
        device
          ? this.ofDevice(device, attributes, relevanceMs, role)
          : new Map(attributes.map((name) => [name, { warning: DEVICE_UNKNOWN }])),
      );
    }
    return answers;
  }

  /** The newest value however old, for rules, and its age; infinite when unknown. */
  value(device: Device, attribute: string): (Latest & { ageMs: DurationMs }) | undefined {
    const plan = this.#plans.of(device).attributes.get(attribute);
    const latest = plan && latestOf(plan);
    if (!latest) return undefined;
    const { timestampS, value } = latest;
    return { timestampS, value, ageMs: latest.ageMs(this.#clock.monotonicMs()) };
  }

  /** Alerts of `alerts` and every attribute of type alerts together; undefined when none of them has a value. */
  alerts(device: Device): ReportedAlerts | undefined {
    const raised = new Map<string, { sinceS: EpochS; readRole: Role }>();
    let newestS: EpochS | undefined;
    const { alerts, manifest } = this.#plans.of(device);
    for (const { attribute, state } of alerts) {
      if (!state?.latest) continue;
      const { timestampS, value } = state.latest;
      newestS = Math.max(newestS ?? timestampS, timestampS);
      const readRole = neededRole(manifest, attribute);
      for (const name of value as string[]) {
        const before = raised.get(name) ?? { sinceS: timestampS, readRole };
        raised.set(name, {
          sinceS: Math.min(before.sinceS, timestampS),
          readRole: roleIncludes(readRole, before.readRole) ? before.readRole : readRole,
        });
      }
    }
    return newestS === undefined ? undefined : { raised, timestampS: newestS };
  }

  /** Names of the alerts that are raised now, by attributes that the role may read. */
  raisedAlerts(device: Device, role: Role): string[] {
    const { alerts, manifest } = this.#plans.of(device);
    const readable = alerts.filter(({ attribute }) => mayRead(manifest, attribute, role));
    return [...new Set(readable.flatMap(({ state }) => (state?.latest?.value ?? []) as string[]))].sort();
  }

  /** Whether any value of the device is known. */
  wasHeard(device: Device): boolean {
    for (const { state } of this.#plans.of(device).attributes.values()) if (state?.latest) return true;
    return false;
  }

  /** How often a device measures: as its most frequent value; undefined: not known yet. */
  usualPauseS(device: Device): DurationS | undefined {
    let leastS: DurationS | undefined;
    for (const { state } of this.#plans.of(device).attributes.values()) {
      const pauseS = state?.latest?.usualPauseS();
      if (pauseS !== undefined) leastS = Math.min(leastS ?? pauseS, pauseS);
    }
    return leastS;
  }

  /** When a value of the device arrived last; undefined: not since this run or its manifest began. */
  heardAtMs(device: Device): MonotonicMs | undefined {
    return this.#plans.of(device).heardAtMs;
  }
}

function answerOf(
  plan: DevicePlan,
  attribute: string,
  role: Role,
  relevanceMs: DurationMs,
  nowMs: MonotonicMs,
): LatestAnswer {
  const wanted = declaredAttribute(plan, attribute);
  if (!wanted || !mayRead(plan.manifest, wanted.attribute, role)) return { warning: ATTRIBUTE_UNKNOWN };
  const latest = latestOf(wanted);
  if (!latest || latest.ageMs(nowMs) > relevanceMs) return { warning: NOT_RELEVANT };
  return { timestampS: latest.timestampS, value: latest.value };
}
