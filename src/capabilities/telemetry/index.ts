export {
  type AmountMinutes,
  CELL,
  type ChangedSamples,
  type ChangePosition,
  type Changes,
  csvField,
  historyOwner,
  type Latest,
  neededAfter,
  retentionPolicy,
  type RetentionPolicy,
  type SampleStretch,
  ThreadedHistory,
} from '#telemetry-store';
export type { TelemetryEvents, ReportedAlerts } from './intake/events.ts';
export { localDayEdges } from './resolve-query.ts';
export { telemetryRoutes, telemetryStreams } from './routes.ts';
export { instantS } from './schema.ts';
export { type AmountsQuery, Telemetry } from './service.ts';
