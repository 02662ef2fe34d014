export { BuiltInModule } from './built-in-module.ts';
export { scanRoutes } from './routes.ts';
export { Modules } from './service.ts';
