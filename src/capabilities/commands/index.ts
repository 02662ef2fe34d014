export { type Execution, scriptFault } from './model.ts';
export { commandRoutes } from './routes.ts';
export { toWire as executionToWire } from './schema.ts';
export { type CommandListener, Commands, type Running } from './service.ts';
