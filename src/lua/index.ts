export { bytesArgument, numberArgument, tableArgument, textArgument } from './arguments.ts';
export type { Library } from './library.ts';
export { LuaMachine, type ScriptClock } from './machine.ts';
export { Scheduler, type SchedulerOptions, type ScheduledTask, type Runnable } from './scheduler.ts';
export {
  type Script,
  type ScriptModule,
  type ScriptOptions,
  Scripts,
  type ScriptsOptions,
} from './script.ts';
export { Jobs, type NextAlarm } from './libraries/scheduler.ts';
export { calendarFields, epochOf, formatTime, offsetS } from './calendar.ts';
export { LuaState, type StateOptions } from './state.ts';
export { type FailureReason, type HostFunction, type HostResult, LuaFailure } from './task.ts';
export { createSyntaxChecker, luaSource, type SyntaxChecker, type SyntaxFault } from './syntax.ts';
export {
  formatFloat,
  jsonOf,
  LuaError,
  LuaJson,
  type LuaResult,
  type LuaValue,
  numberOf,
  textOf,
  typeNameOf,
} from './values.ts';
