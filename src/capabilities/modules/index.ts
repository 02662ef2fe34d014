export { createModules, type Modules, type ModulesOptions } from './service.ts';
