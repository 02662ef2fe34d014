/** What alerts are called. */
import { type LiveDevice, liveDevice } from './live.ts';
import { say } from './words/index.ts';

interface KeptAlert {
  source: string;
  name: string;
  display_name: string;
  device_id: string;
}

const isBox = (live: LiveDevice | undefined): boolean =>
  live?.device.type === 'GATEWAY' || live?.device.type === 'VIRTUAL_UCM';

/** Of a device, as its manifest has it; of the box and its module, in the language of the page. */
export function alertTitle(live: LiveDevice, name: string): string {
  const text = live.manifest?.alerts[name]?.display_name ?? name;
  return isBox(live) ? say.alerts.ofBox(name, text) : text;
}

/** What the gateway says of a device, and of itself, in the language of the page; what devices say, as their manifests have it. */
export function titleOf({ source, name, display_name: text, device_id: id }: KeptAlert): string {
  const own: Readonly<Record<string, string>> = say.alerts.ofGateway;
  if (source === 'GATEWAY') return own[name] ?? text;
  return isBox(liveDevice(id)) ? say.alerts.ofBox(name, text) : text;
}
