export { strategyRoutes } from './routes.ts';
export { Strategies } from './service.ts';
