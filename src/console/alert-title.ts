/** Titles of alerts. */
import { type LiveDevice, liveDevice } from './live.ts';
import { isOfBox } from './translated-manifest.ts';
import { say } from './words/index.ts';

interface KeptAlert {
  source: string;
  name: string;
  display_name: string;
  device_id: string;
}

export const alertTitle = ({ manifest }: Pick<LiveDevice, 'manifest'>, name: string): string =>
  manifest?.alerts[name]?.display_name ?? name;

/** Title of an alert: the gateway's own in the language of the page, a device's as it was then. */
export function titleOf({ source, name, display_name: text, device_id: id }: KeptAlert): string {
  const own: Readonly<Record<string, string>> = say.alerts.ofGateway;
  if (source === 'GATEWAY') return own[name] ?? text;
  const live = liveDevice(id);
  return (live && isOfBox(live.device) && live.manifest?.alerts[name]?.display_name) || text;
}
