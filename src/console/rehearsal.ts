/** Whether the gateway is a restored copy that sends nothing. */
import { liveDevices, statusVersion } from './live.ts';

export function isRehearsal(): boolean {
  void statusVersion.value;
  return liveDevices().some(
    ({ device }) => device.type === 'GATEWAY' && device.raised_alert_names?.includes('rehearsal') === true,
  );
}
