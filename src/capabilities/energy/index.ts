export { energyRoutes } from './routes.ts';
export { Energy, type EnergyOptions } from './service.ts';
export { energyRows } from './tables.ts';
