export type { Latest, ReceivedValue, RejectionReason, TelemetryEvents } from './model.ts';
export type { LatestAnswer } from './latest.ts';
export { telemetryRoutes, telemetryStreams } from './routes.ts';
export { createTelemetry, type Telemetry, type TelemetryOptions, type TimeSeriesAnswer } from './service.ts';
export { createMemoryHistory } from './memory-history.ts';
export { valueToWire } from './schema.ts';
