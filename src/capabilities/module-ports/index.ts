export { modulePortRoutes } from './routes.ts';
export { ModulePorts, type IoPortRecord, type SerialPortRecord } from './service.ts';
