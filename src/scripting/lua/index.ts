export {
  bytesArgument,
  numberArgument,
  numberArgumentOr,
  numberInText,
  tableArgument,
  textArgument,
} from './arguments.ts';
export type { Library } from './library.ts';
export { type ScriptClock } from './machine.ts';
export { Scheduler, type Runnable } from './scheduler.ts';
export { type Script, type ScriptModule, Scripts } from './script.ts';
export { Jobs } from './libraries/scheduler.ts';
export { epochOf, offsetS, zonedTime } from './calendar.ts';
export { type HostFunction, type HostResult, LuaFailure, type LuaTurn, waiting } from './task.ts';
export { createSyntaxChecker, luaSource, type SyntaxChecker, type SyntaxFault } from './syntax.ts';
export {
  formatFloat,
  jsonOf,
  LuaData,
  LuaError,
  LuaJson,
  type LuaValue,
  numberOf,
  textOf,
} from './values.ts';
