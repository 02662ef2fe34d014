export { isPassword, type RandomBytes, storedPassword } from './credentials.ts';
export { type Addresses, type CertificateIssuer, type ConnectionConfiguration } from './model.ts';
export { configurationToWire } from './schema.ts';
export { provisioningRoutes } from './routes.ts';
export { Provisioning } from './service.ts';
