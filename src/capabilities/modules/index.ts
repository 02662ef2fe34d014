export { createModules, type Modules, type ScriptStatus, type ModulesOptions } from './service.ts';
