export type { Connectivity, DeviceMessage, DeviceMessageHandler, DeviceMessageKind } from './model.ts';
export {
  createConnectivity,
  type ConnectivityEvents,
  type ConnectivityOptions,
  type ConnectivityService,
} from './service.ts';
