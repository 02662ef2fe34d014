export type { Rule, RuleRunner, RuleScript } from './model.ts';
export { logToWire, newRuleBody, ruleShapes, scriptToWire } from './schema.ts';
export { answerWithRule, ruleRoutes, ruleStreams } from './routes.ts';
export { Rules, type NewRule } from './service.ts';
export { createRuleMethods, readableAttribute, type CallMethod } from './methods.ts';
export { createRecordedMethods, type CallRecordedMethod } from './recorded-methods.ts';
export { RuleSandbox, type RuleSandboxOptions } from './sandbox.ts';
