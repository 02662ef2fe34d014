export type { ConfigurationEvents, ConfigurationValues, DeviceConfiguration, DeviceSide } from './model.ts';
export { connectConfiguration } from './mqtt.ts';
export { deviceConfigurationRoutes } from './routes.ts';
export {
  createDeviceConfiguration,
  type ConfigurationChange,
  type DeviceConfigurationOptions,
  type DeviceConfigurationService,
} from './service.ts';
export { configurationRows } from './tables.ts';
