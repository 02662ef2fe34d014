export { deviceLogRoutes, deviceLogStreams } from './routes.ts';
export { toWire as deviceLogToWire } from './schema.ts';
export { DeviceLogs, type LogQuery } from './service.ts';
