export type { Latest, ReceivedValue, RejectionReason, TelemetryEvents } from './model.ts';
export type { LatestAnswer } from './latest.ts';
export { telemetryRoutes, telemetryStreams } from './routes.ts';
export { createTelemetry, type Telemetry, type TelemetryOptions, type TimeSeriesAnswer } from './service.ts';
export type { SampleStretch } from './sample-lines.ts';
export { instantS, valueToWire } from './schema.ts';
export { createThreadedHistory, type ThreadedHistoryOptions } from './threaded-history.ts';
export type { ImportReport } from './restore.ts';
export { retentionPolicy, type RetentionPolicy } from './retention.ts';
