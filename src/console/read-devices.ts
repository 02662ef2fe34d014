/** Devices as the API has them. What they said of their connection meanwhile counts more than an answer on its way. */
import { callFor, callForList, path } from './api.ts';
import type { Device } from './shapes.ts';

type Connectivity = Device['connectivity'];

const PARTS = 'connectivity,communication,raised_alert_names,room,position';

/** Connectivity that arrived by the stream while a reading is under way. */
const readings = new Set<Map<string, Connectivity>>();

/** Records a change of connectivity from the stream. */
export function noteConnection(deviceId: string, connectivity: Connectivity): void {
  for (const heard of readings) heard.set(deviceId, connectivity);
}

/** All of them, in the order in which they are listed. */
export function readList(): Promise<Device[]> {
  const address = `/v3/devices?expand=${PARTS}`;
  return asHeard(async () => (await callForList<Device>(address, 'devices')).items.toSorted(byPosition));
}

const byPosition = (a: Device, b: Device): number => (a.position ?? 0) - (b.position ?? 0);

/** One, by id or slug, with its properties and notes. */
export async function readDevice(idOrSlug: string): Promise<Device> {
  const address = `${path`/v3/devices/${idOrSlug}`}?expand=${PARTS},properties,notes`;
  const [device] = await asHeard(async () => [await callFor<Device>('device', 'GET', address)] as const);
  return device;
}

async function asHeard<Devices extends readonly Device[]>(read: () => Promise<Devices>): Promise<Devices> {
  const heard = new Map<string, Connectivity>();
  readings.add(heard);
  try {
    const devices = await read();
    for (const device of devices) if (heard.has(device.id)) device.connectivity = heard.get(device.id);
    return devices;
  } finally {
    readings.delete(heard);
  }
}
