export { outputRoutes } from './routes.ts';
export { Outputs } from './service.ts';
