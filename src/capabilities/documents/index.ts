export { documentRoutes } from './routes.ts';
export { Documents } from './service.ts';
