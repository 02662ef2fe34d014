export { BuiltInModule } from './built-in-module.ts';
export { Modules } from './service.ts';
export { moduleRows } from './tables.ts';
