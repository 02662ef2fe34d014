export type { Engine, Rule, RuleEvents, RuleRunner, RuleScript, RunnableRule } from './model.ts';
export { ruleRoutes, ruleStreams } from './routes.ts';
export { createRules, type NewRule, type Rules, type RulesOptions } from './service.ts';
export { createQuestions, type Ask } from './questions.ts';
export { createRecordedQuestions, type AskRecorded } from './recorded.ts';
export { createRuleSandbox, type RuleSandbox, type RuleSandboxOptions } from './sandbox.ts';
export { ruleRows } from './tables.ts';
