export { libraryRoutes } from './routes.ts';
export { DeviceLibrary } from './service.ts';
