export { updateRoutes } from './routes.ts';
export { Updates } from './service.ts';
