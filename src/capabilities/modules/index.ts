export { BuiltInModule } from './built-in-module.ts';
export { createModules, type Modules, type ScriptStatus, type ModulesOptions } from './service.ts';
export { moduleRows } from './tables.ts';
