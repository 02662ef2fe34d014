export type { AuditEntry, AuditOrigin } from './model.ts';
export { auditRoutes } from './routes.ts';
export { type Action, Audit, type AuditOptions, createLocalAudit } from './service.ts';
export { auditRows } from './tables.ts';
