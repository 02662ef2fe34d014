export { deviceLogRoutes, deviceLogStreams } from './routes.ts';
export { toWire as deviceLogToWire } from './schema.ts';
export { severityColumn } from './tables.ts';
export { DeviceLogs, type LogQuery } from './service.ts';
