export { applianceRoutes } from './routes.ts';
export { problemReport, type ReportOptions } from './report.ts';
export { Appliance, type PartsStatus } from './service.ts';
