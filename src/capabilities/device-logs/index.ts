export type { LogEntry, LogFilter } from './model.ts';
export {
  createDeviceLogs,
  type DeviceLogEvents,
  type DeviceLogs,
  type DeviceLogsOptions,
  type LogQuery,
} from './service.ts';
