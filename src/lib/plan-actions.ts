/** What a rule plans to do with an output in a step of time (docs/interface/lua-rules.md#outputs). */
export const PLAN_ACTIONS = ['CHARGE', 'DISCHARGE', 'HOLD', 'ON', 'OFF'] as const;

export type PlanAction = (typeof PLAN_ACTIONS)[number];
