export { newTargetBody } from './request-schema.ts';
export { targetRoutes } from './routes.ts';
export { Targets } from './service.ts';
export type { RecordSources } from './records/records.ts';
