/**
 * The library: devices that people really have, as data. A template says how a family is reached and what its registers
 * or answers mean; the compiler makes an ordinary blueprint of it. docs/device-template.md tells how to write one.
 */
export {
  type CompiledTemplate,
  compileTemplate,
  judgeTemplate,
  type LibraryBooks,
} from './compile/compile.ts';
export { namesNeeded, operationOf } from './compile/plan.ts';
export { fieldOf, type RegisterField } from './compile/requests.ts';
export { TemplateError } from './compile/problem.ts';
export { templateJsonSchema } from './json-schema.ts';
export { faultsOf, type ParsedTemplate, parseTemplate, type TemplateFault } from './parse.ts';
export { withMeterRoles } from './compile/meter.ts';
export { ENERGY_ROLES, type Template, type TemplateValue } from './compile/template.ts';
export { loadStrategy } from './strategy/load.ts';
export { type ScriptValues, strategyScript } from './strategy/script.ts';
export { type Localized, type Strategy, type StrategyParameter } from './strategy/strategy.ts';
export {
  type Evidence,
  identityOf,
  identityQuestions,
  questionsOf,
  type RegisterRead,
  strengthOf,
} from './recognise.ts';
