export { serialPortRoutes } from './routes.ts';
export { SerialPorts, type SerialPortRecord } from './service.ts';
export { serialPortRows } from './tables.ts';
