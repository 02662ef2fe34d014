export { deviceSearchRoutes } from './routes.ts';
export { DeviceSearch } from './service.ts';
