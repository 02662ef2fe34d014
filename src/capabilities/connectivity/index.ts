export type {
  CommandRequest,
  Connectivity,
  DeviceMessage,
  DeviceMessageHandler,
  DeviceMessageKind,
  Spokesman,
} from './model.ts';
export {
  createConnectivity,
  type ConnectivityEvents,
  type ConnectivityOptions,
  type ConnectivityService,
} from './service.ts';
