export type { AuditEntry, AuditOrigin } from './model.ts';
export { auditRoutes } from './routes.ts';
export { type Action, type Audit, type AuditOptions, createAudit, createLocalAudit } from './service.ts';
