/** Alerts that a device reports and the gateway has not stored, as while its disk takes nothing. */
import { alertTitle } from '../alert-title.ts';
import type { LiveDevice } from '../live.ts';
import type { Alert } from '../shapes.ts';
import { SEVERITIES } from './words.ts';

export interface UnstoredAlert {
  live: LiveDevice;
  name: string;
  title: string;
  severity: Alert['severity'];
}

/** The worst first. @param stored all that are raised of these devices */
export function unstoredAlerts(devices: readonly LiveDevice[], stored: readonly Alert[]): UnstoredAlert[] {
  const isStored = new Set(stored.map(({ device_id: id, name }) => `${id} ${name}`));
  return devices
    .flatMap((live) =>
      (live.device.raised_alert_names ?? [])
        .filter((name) => !isStored.has(`${live.device.id} ${name}`))
        .map((name) => ({ live, name, title: alertTitle(live, name), severity: severityOf(live, name) })),
    )
    .toSorted((a, b) => SEVERITIES.indexOf(a.severity) - SEVERITIES.indexOf(b.severity));
}

/** As the gateway takes what a manifest does not declare. */
const severityOf = ({ manifest }: LiveDevice, name: string): Alert['severity'] =>
  SEVERITIES.find((one) => one === manifest?.alerts[name]?.severity) ?? 'error';
