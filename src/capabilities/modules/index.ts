export { BuiltInModule } from './built-in-module.ts';
export { scanRoutes, traceRoutes } from './routes.ts';
export { Modules } from './service.ts';
export { endSentence, traceToWire } from './schema.ts';
export type { ScanEnd, ScanOrder, ScanUnit } from './scans.ts';
