export {
  type Communication,
  type ConnectivityStatus,
  type Device,
  type DeviceEvents,
  type DeviceType,
  DEVICE_TYPES,
  isModule,
} from './model.ts';
export { DEVICE_COLLECTION_PATHS, devicePaths, deviceRoutes } from './routes.ts';
export { deviceName } from './schema.ts';
export { type Devices, DeviceService, type NewDevice } from './service.ts';
