export type { Connectivity, DeviceMessage, DeviceMessageHandler, DeviceMessageKind } from './model.ts';
