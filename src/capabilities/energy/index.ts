export { energyRoutes } from './routes.ts';
export { tariffsBody } from './tariff-request.ts';
export { unitFactor } from './profiles.ts';
export { Energy } from './service.ts';
