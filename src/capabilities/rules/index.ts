export type { Rule, RuleRunner } from './model.ts';
export { logToWire, newRuleBody } from './schema.ts';
export { ruleRoutes, ruleStreams } from './routes.ts';
export { Rules, type NewRule } from './service.ts';
export { createRuleMethods, type CallMethod } from './methods.ts';
export { createRecordedMethods, type CallRecordedMethod } from './recorded-methods.ts';
export { RuleSandbox, type RuleSandboxOptions } from './sandbox.ts';
