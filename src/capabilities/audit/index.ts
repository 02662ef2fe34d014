export type { AuditOrigin } from './model.ts';
export { auditRoutes } from './routes.ts';
export { toWire as auditToWire } from './schema.ts';
export { Audit, createLocalAudit } from './service.ts';
