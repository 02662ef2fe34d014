export { energyRoutes } from './routes.ts';
export { Energy } from './service.ts';
