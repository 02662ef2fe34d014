export type {
  CommandRequest,
  DeviceMessage,
  DeviceMessageHandler,
  DeviceMessageKind,
  Spokesman,
} from './model.ts';
export { Connectivity } from './service.ts';
