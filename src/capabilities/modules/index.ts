export { BuiltInModule } from './built-in-module.ts';
export { scanRoutes } from './routes.ts';
export { Modules } from './service.ts';
export { endSentence } from './schema.ts';
export type { ScanEnd, ScanOrder, ScanUnit } from './scans.ts';
