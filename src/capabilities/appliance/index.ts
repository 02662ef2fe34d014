export { applianceRoutes, problemReport, type ReportOptions } from './routes.ts';
export { Appliance, type PartsStatus } from './service.ts';
export { attentionShape } from './schema.ts';
