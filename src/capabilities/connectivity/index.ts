export type {
  CommandRequest,
  DeviceMessage,
  DeviceMessageHandler,
  DeviceMessageKind,
  LocalSession,
} from './model.ts';
export { Connectivity } from './service.ts';
