/** Which devices are modules. */
import { unprocessable } from '../../lib/errors.ts';
import { type Device, type Devices, isModule } from '../devices/index.ts';

export function isBuiltIn(device: Device): boolean {
  return isModule(device) && device.communication.type === 'MQTT_V1_LOCALHOST';
}

/**
 * @param runtime id or slug of a module, or of the gateway for the one that is built in
 * @throws GatewayError device_not_found (404), invalid_runtime (422)
 */
export function requireModule(devices: Pick<Devices, 'all' | 'require'>, runtime: string): Device {
  const asked = devices.require(runtime);
  const module = asked.type === 'GATEWAY' ? devices.all().find(isBuiltIn) : asked;
  if (module && isModule(module)) return module;
  throw unprocessable(
    'invalid_runtime',
    `"${asked.name}" talks to no field devices: a communication module does, or the gateway.`,
  );
}
