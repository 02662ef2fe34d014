export {
  bytesArgument,
  formatFloat,
  jsonOf,
  LuaData,
  LuaError,
  LuaJson,
  type LuaValue,
  numberArgument,
  numberArgumentOr,
  numberInText,
  numberOf,
  tableArgument,
  textArgument,
  textOf,
} from './values.ts';
export type { Library } from './stack.ts';
export { type CallObserver, type ScriptClock } from './machine.ts';
export { Scheduler, type Runnable } from './scheduler.ts';
export {
  createSyntaxChecker,
  luaSource,
  type Script,
  type ScriptModule,
  Scripts,
  type SyntaxChecker,
  type SyntaxFault,
} from './script.ts';
export { Jobs } from './libraries/scheduler.ts';
export { epochOf, offsetS, zonedTime } from './calendar.ts';
export { type HostFunction, type HostResult, LuaFailure, type LuaTurn, waiting } from './task.ts';
