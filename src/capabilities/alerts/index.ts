export type { Alert, AlertChange, AlertSeverity } from './model.ts';
export { isNewsFor, maySee } from './model.ts';
export { alertRoutes, alertStreams } from './routes.ts';
export { alertToWire } from './schema.ts';
export { Alerts } from './service.ts';
export { alert, ALERT_SEVERITIES } from './tables.ts';
