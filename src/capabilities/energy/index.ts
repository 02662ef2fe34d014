export { energyRoutes } from './routes.ts';
export { unitFactor } from './profiles.ts';
export { Energy } from './service.ts';
