export { backupRoutes } from './routes.ts';
export { Backups } from './service.ts';
export { backupRows } from './tables.ts';
