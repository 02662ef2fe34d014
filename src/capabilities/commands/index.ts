export type { CommandEvents } from './in-flight.ts';
export type { Caller, CommandResponse, Execution, ExecutionState } from './model.ts';
export { commandRoutes } from './routes.ts';
export {
  createCommands,
  type CommandRequest,
  type Commands,
  type CommandsOptions,
  type Running,
} from './service.ts';
export { commandRows } from './tables.ts';
