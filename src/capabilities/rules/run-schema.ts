/** Runs of a rule on the wire. Source: docs/interface/http.md#rules. */
import * as v from 'valibot';
import { writableJson } from '../../lib/json.ts';
import { LIMITS } from '../../lib/limits.ts';
import { reaches, type Role, roleIncludes } from '../../lib/role.ts';
import { formatTimestamp } from '../../lib/time.ts';
import { query, shape } from '../../platform/http/index.ts';
import { RUN_CAUSES, type RunStep, STEP_KINDS, type TracedRun } from '../../protocol/rule-trace.ts';
import type { Commands } from '../commands/index.ts';
import type { Device, Devices } from '../devices/index.ts';
import { declaredName } from './methods.ts';

const { changes, others } = LIMITS.rules.trace;

export const runListQuery = v.object(query.page(changes + others));

const stepShape = shape.named(
  'RuleRunStep',
  v.object({
    kind: shape.about(v.picklist(STEP_KINDS), 'The function that the script called.'),
    at: shape.instant(),
    duration_ms: shape.count(),
    device_id: v.optional(shape.id()),
    device_name: v.optional(v.string()),
    name: v.optional(
      shape.about(
        v.string(),
        'Of the attribute, property, command, storage key or method, as the script has it.',
      ),
    ),
    arguments: v.optional(shape.anyObject()),
    result: v.optional(shape.about(v.unknown(), 'What the function returned.')),
    error: v.optional(shape.about(v.string(), 'Why it returned nothing.')),
    is_cut: v.optional(
      shape.about(v.literal(true), 'A value was too long and is cut or missing; else absent.'),
    ),
    is_hidden: v.optional(
      shape.about(v.literal(true), 'Your role may not see arguments and result; else absent.'),
    ),
  }),
  {
    kind: 'telemetry',
    at: '2026-03-01T14:02:10.004Z',
    duration_ms: 1,
    device_id: 'c1a5b8b2-0f0e-4a36-8a55-5b1f3b8a9d01',
    device_name: 'Grid meter',
    name: 'power',
    result: -3_200,
  },
);

const runShape = shape.named(
  'RuleRun',
  v.object({
    started_at: shape.instant(),
    duration_ms: v.optional(shape.about(shape.count(), 'Absent while it goes on.')),
    cause: shape.about(
      v.picklist(RUN_CAUSES),
      'start: the main part. interval: of a V1 rule. schedule, event: a function of the rule. run_now: a person.',
    ),
    steps: shape.about(v.array(stepShape), 'In the order of their end.'),
    left_out: shape.about(shape.count(), 'Number of earlier steps that are not listed.'),
    error: v.optional(shape.about(v.string(), 'Why it failed.')),
  }),
);

export type RuleRunOnWire = v.InferOutput<typeof runShape>;
export type RuleRunStepOnWire = v.InferOutput<typeof stepShape>;

export const runShapes = {
  list: shape.listOf('runs', runShape),
  several: v.object({ runs: v.array(runShape) }),
};

interface Reader {
  devices: Devices;
  commands: Pick<Commands, 'shown'>;
  role: Role;
}

export function runToWire(reader: Reader, run: TracedRun): RuleRunOnWire {
  return {
    started_at: formatTimestamp(run.startedAtMs),
    ...(run.durationMs !== undefined && { duration_ms: run.durationMs }),
    cause: run.cause,
    steps: run.steps.map((step) => stepToWire(reader, step)),
    left_out: run.leftOut,
    ...(run.error !== undefined && { error: run.error }),
  };
}

function stepToWire(reader: Reader, step: RunStep): RuleRunStepOnWire {
  const device = step.deviceId === undefined ? undefined : reader.devices.get(step.deviceId);
  const seen = valuesOf(reader, step, device);
  return {
    kind: step.kind,
    at: formatTimestamp(step.atMs),
    duration_ms: step.durationMs,
    ...(step.deviceId !== undefined && { device_id: step.deviceId }),
    ...(device && { device_name: device.name }),
    ...(step.name !== undefined && { name: step.name }),
    ...(seen ?? { is_hidden: true as const }),
    ...(step.isCut && { is_cut: true as const }),
  };
}

type Values = Pick<RuleRunStepOnWire, 'arguments' | 'result' | 'error'>;

/** Undefined: the role may not see them. */
function valuesOf(reader: Reader, step: RunStep, device: Device | undefined): Values | undefined {
  const { kind, name = '', result, error } = step;
  const given =
    step.arguments === undefined ? undefined : (writableJson(step.arguments) as Record<string, unknown>);
  const outcome = {
    ...(result !== undefined && { result: writableJson(result) }),
    ...(error !== undefined && { error }),
  };
  if (kind === 'command' || kind === 'output' || kind === 'release') {
    const shown = device && reader.commands.shown(device, { name, arguments: given ?? {} }, reader.role);
    if (!shown) return undefined;
    return { ...(given && { arguments: shown }), ...outcome };
  }
  return maySee(reader, step, device) ? { ...(given && { arguments: given }), ...outcome } : undefined;
}

/** Values of attributes and properties have the access level of the manifest; what a script stores is for who may write one. */
function maySee(
  { devices, role }: Reader,
  { kind, name, deviceId }: RunStep,
  device: Device | undefined,
): boolean {
  if (kind.startsWith('storage_')) return roleIncludes(role, 'OWNER');
  if (name === undefined || deviceId === undefined) return true;
  if (!device) return roleIncludes(role, 'INSTALLER');
  const manifest = devices.manifest(device);
  const declared = kind === 'property' ? manifest.properties : manifest.telemetry;
  const own = declaredName(declared, name);
  // Every device has `alerts`, which is declared nowhere, and of anything else there is no value.
  return own === undefined || reaches(role, declared[own]?.access_level);
}
