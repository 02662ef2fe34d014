export type { Execution } from './model.ts';
export { commandRoutes } from './routes.ts';
export { toWire as executionToWire } from './schema.ts';
export { createCommands, type Commands, executeWithin, type Running } from './service.ts';
export { commandRows } from './tables.ts';
