export { backupRoutes } from './routes.ts';
export { Backups } from './service.ts';
