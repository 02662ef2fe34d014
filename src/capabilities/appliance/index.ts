export { type Backups, createBackups } from './backup.ts';
export { applianceRoutes } from './routes.ts';
export { Appliance, type ApplianceOptions, type PartsStatus } from './service.ts';
