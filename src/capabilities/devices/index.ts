export {
  DEVICE_TYPES,
  type Communication,
  type CommunicationType,
  type ConnectivityStatus,
  type Device,
  type DeviceEvents,
  type Devices,
  type DeviceType,
} from './model.ts';
export { devicePaths } from './paths.ts';
