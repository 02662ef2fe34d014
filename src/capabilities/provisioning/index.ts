export { isPassword, Provisioning, type RandomBytes, storedPassword } from './service.ts';
export { type Addresses, type CertificateIssuer, type ConnectionConfiguration } from './model.ts';
export { configurationToWire } from './schema.ts';
export { provisioningRoutes } from './routes.ts';
