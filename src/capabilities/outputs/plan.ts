/** What a rule is going to do with an output (docs/interface/lua-rules.md#outputs): the option `plan` of its request. */
import * as v from 'valibot';
import { invalidBody } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { PLAN_ACTIONS, type PlanAction } from '../../lib/plan-actions.ts';
import type { EpochS } from '../../lib/time.ts';
import type { JsonValue } from '../../protocol/telemetry.ts';

interface PlanStep {
  readonly fromS: EpochS;
  readonly toS: EpochS;
  readonly action: PlanAction;
}

/** One after another, without equal neighbours; between them nothing is planned. */
export type Plan = readonly PlanStep[];

/** The plan of a rule for an output. */
export interface OutputPlan {
  readonly rule: { readonly id: string; readonly slug: string };
  readonly deviceId: string;
  readonly deviceName: string;
  /** Empty: the only output that these commands make. */
  readonly output: string;
  readonly steps: Plan;
}

const { planSteps, planStepMaxS, planKeptS } = LIMITS.outputs;
const action = v.nullable(v.picklist(PLAN_ACTIONS));
const course = v.strictObject({
  start: v.pipe(v.number(), v.safeInteger(), v.minValue(0)),
  step_s: v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(planStepMaxS)),
  // An empty table of Lua is no list.
  values: v.union([v.pipe(v.array(action), v.maxLength(planSteps)), v.strictObject({})]),
});

/** @throws GatewayError whose message is for the script */
export function planOf(given: JsonValue | undefined): Plan {
  if (given === undefined || given === null) return [];
  const judged = v.safeParse(course, given);
  if (!judged.success)
    throw invalidBody(
      '',
      `option "plan" must be { start = Unix seconds, step_s = 1 to ${planStepMaxS}, values = at most ${planSteps} of ` +
        `${PLAN_ACTIONS.join(', ')} or nil }`,
    );
  const { start, step_s: stepS, values } = judged.output;
  if (!Array.isArray(values)) return [];
  return joined(
    values.flatMap((action, index) =>
      action === null ? [] : [{ fromS: start + index * stepS, toS: start + (index + 1) * stepS, action }],
    ),
  );
}

/** The new plan, behind what the former one said of the time that is over. */
export function continued(former: Plan, plan: Plan, nowS: EpochS): Plan {
  const [first] = plan;
  if (!first) return [];
  const untilS = Math.min(first.fromS, nowS);
  const over = former
    .filter(({ fromS, toS }) => fromS < untilS && toS > nowS - planKeptS)
    .map((step) => ({ ...step, toS: Math.min(step.toS, untilS) }));
  return joined([...over, ...plan]);
}

function joined(steps: Plan): Plan {
  const found: PlanStep[] = [];
  for (const step of steps) {
    const last = found.at(-1);
    if (last?.action === step.action && last.toS === step.fromS)
      found[found.length - 1] = { ...last, toS: step.toS };
    else found.push(step);
  }
  return found;
}
