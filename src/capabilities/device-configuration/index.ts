export { connectConfiguration } from './mqtt.ts';
export { deviceConfigurationRoutes } from './routes.ts';
export { DeviceConfiguration, type ConfigurationChange } from './service.ts';
