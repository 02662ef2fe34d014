export type { LogEntry, LogFilter } from './model.ts';
export { deviceLogRoutes, deviceLogStreams } from './routes.ts';
export {
  createDeviceLogs,
  type DeviceLogEvents,
  type DeviceLogs,
  type DeviceLogsOptions,
  type LogQuery,
} from './service.ts';
