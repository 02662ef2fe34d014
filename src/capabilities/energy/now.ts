/** Present powers. An unknown value is absent with a reason; an old value is never shown in its place. */
import { meanOf } from '../../lib/mean.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import { readingOf } from './balance.ts';
import { addFlows, emptyFlows } from './flows.ts';
import { type EnergyRole, type EnergySource, type FlowMatrix, type Use, USES } from './model.ts';
import { ROLES } from './tables.ts';

export const REASONS = ['no_value', 'stale', 'implausible'] as const;
type Reason = (typeof REASONS)[number];

interface NumberNow {
  value: number | undefined;
  /** Undefined when it is not known. */
  ageMs: DurationMs | undefined;
  reason: Reason | undefined;
}

interface SourceNow {
  source: EnergySource;
  /** W, positive in the direction of the role. */
  power: NumberNow;
  socPercent: NumberNow | undefined;
}

interface RoleNow {
  role: EnergyRole;
  /** W, sum of its known sources. */
  powerW: number | undefined;
  /** Mean of its sources. */
  socPercent: number | undefined;
  /** Why it is not known, or only in part. */
  reason: Reason | undefined;
  /** It is the rest of the balance. */
  isCalculated: boolean;
}

export interface PowerNow {
  atMs: EpochMs;
  sources: SourceNow[];
  roles: RoleNow[];
  /** Every role is known, with all of its sources. */
  isComplete: boolean;
  /** W, between known roles. */
  flowsW: FlowMatrix;
}

interface Surroundings {
  atMs: EpochMs;
  /** Older values are not current. */
  gapAfterMs: DurationMs;
  /** W; larger powers of a source are none. */
  powerMaxW: (source: EnergySource) => number;
  /** A device that is known to be offline has no flow, however new its last value is. */
  isOffline: (source: EnergySource) => boolean;
  latest: (source: EnergySource, attribute: string) => { value: unknown; ageMs: DurationMs } | undefined;
  factor: (source: EnergySource, attribute: string) => number | undefined;
}

type Bounds = readonly [least: number, most: number];

/** Percent. A little beyond 100, because some batteries count so; 255, 6 553.5 and 65 535 mean "not available". */
export const SOC_BOUNDS: Bounds = [-5, 120];

export function powerNow(sources: readonly EnergySource[], around: Surroundings): PowerNow {
  const known = sources.map((source): SourceNow => {
    const { power, stateOfCharge, isInverted } = source;
    const factor = (power === null ? undefined : around.factor(source, power)) ?? Number.NaN;
    const most = around.powerMaxW(source);
    return {
      source,
      power: numberNow(source, power, isInverted ? -factor : factor, [-most, most], around),
      socPercent:
        stateOfCharge === null ? undefined : numberNow(source, stateOfCharge, 1, SOC_BOUNDS, around),
    };
  });
  const roles = ROLES.flatMap((role) => roleNow(role, known) ?? []);
  const flowsW = emptyFlows();
  addFlows(readingOf(minuteOf(roles)), flowsW);
  const isComplete = roles.every(({ reason }) => reason === undefined);
  if (isComplete && roles.length > 0 && !roles.some(({ role }) => role === 'load'))
    roles.push({
      role: 'load',
      powerW: columnSum(flowsW, 'load'),
      socPercent: undefined,
      reason: undefined,
      isCalculated: true,
    });
  return { atMs: around.atMs, sources: known, roles, isComplete, flowsW };
}

function numberNow(
  source: EnergySource,
  attribute: string | null,
  factor: number,
  [least, most]: Bounds,
  { gapAfterMs, isOffline, latest }: Surroundings,
): NumberNow {
  const found = attribute === null ? undefined : latest(source, attribute);
  const value = Number(found?.value) * factor;
  if (!found || Number.isNaN(value)) return { value: undefined, ageMs: undefined, reason: 'no_value' };
  const ageMs = Number.isFinite(found.ageMs) ? found.ageMs : undefined;
  const isOfNow = ageMs !== undefined && ageMs <= gapAfterMs && !isOffline(source);
  if (!isOfNow) return { value: undefined, ageMs, reason: 'stale' };
  if (value < least || value > most) return { value: undefined, ageMs, reason: 'implausible' };
  // Adding zero turns a negative zero into a plain one.
  return { value: value + 0, ageMs, reason: undefined };
}

function roleNow(role: EnergyRole, sources: readonly SourceNow[]): RoleNow | undefined {
  const all = sources.filter(({ source }) => source.role === role);
  // Devices that never sent a value are not installed yet; they count only if the role has no others.
  const reporting = all.filter(({ power }) => power.reason !== 'no_value');
  const own = reporting.length > 0 ? reporting : all;
  if (own.length === 0) return undefined;
  const reason = own.find(({ power }) => power.reason !== undefined)?.power.reason;
  const isKnown = own.some(({ power }) => power.value !== undefined);
  const charges = own.flatMap(({ socPercent }) => socPercent?.value ?? []);
  return {
    role,
    powerW: isKnown ? own.reduce((sum, { power }) => sum + (power.value ?? 0), 0) : undefined,
    socPercent: charges.length > 0 ? meanOfAll(charges) : undefined,
    reason,
    isCalculated: false,
  };
}

function meanOfAll(values: readonly number[]): number {
  const sum = values.reduce((all, value) => all + value, 0);
  return meanOf(sum, values.length, Math.min(...values), Math.max(...values));
}

/** The present powers as if they were the energies of a minute, in W instead of Wh. */
function minuteOf(roles: readonly RoleNow[]) {
  return new Map(
    roles.flatMap(({ role, powerW }) =>
      powerW === undefined
        ? []
        : [[role, { forwardWh: Math.max(0, powerW), reverseWh: Math.max(0, -powerW), knownS: 60 }] as const],
    ),
  );
}

function columnSum(flows: FlowMatrix, use: Use): number {
  const column = USES.indexOf(use);
  return flows.reduce((sum, amount, index) => sum + (index % USES.length === column ? amount : 0), 0);
}
