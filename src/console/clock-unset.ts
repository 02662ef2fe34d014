/** Whether the gateway knows the time. */
import { liveDevices } from './live.ts';

/** True when the gateway reports that its clock is not set: telemetry waits, and there is none to read. */
export const isClockUnset = (): boolean =>
  liveDevices().some(
    ({ device }) =>
      device.type === 'GATEWAY' && device.raised_alert_names?.includes('clock_not_set') === true,
  );
