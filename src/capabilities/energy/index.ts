export { energyRoutes } from './routes.ts';
export { tariffsBody } from './schema.ts';
export { unitFactor } from './profiles.ts';
export { Energy } from './service.ts';
