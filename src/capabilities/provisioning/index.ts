export {
  MQTT_PROTOCOLS,
  type Addresses,
  type CertificateIssuer,
  type ConnectionConfiguration,
  type MqttProtocol,
  type ProvisioningEvents,
} from './model.ts';
export { configurationToWire } from './schema.ts';
export { provisioningRoutes } from './routes.ts';
export {
  createProvisioning,
  OWN_CHANNEL,
  type Provisioned,
  type Provisioning,
  type ProvisioningOptions,
} from './service.ts';
export { provisioningRows } from './tables.ts';
