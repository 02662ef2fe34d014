/** Devices as the API has them. What they said of their connection meanwhile counts more than an answer on its way. */
import { call, path } from './api.ts';
import type { Device } from './shapes.ts';

type Connectivity = Device['connectivity'];

const PAGE = 1_000;
const PARTS = 'connectivity,communication,raised_alert_names';

/** What was heard since each reading that is under way began. */
const readings = new Set<Map<string, Connectivity>>();

/** What the stream says of a connection. */
export function noteConnection(deviceId: string, connectivity: Connectivity): void {
  for (const heard of readings) heard.set(deviceId, connectivity);
}

/** All of them. */
export function readList(): Promise<Device[]> {
  return asHeard(async () => {
    const found: Device[] = [];
    let total = Infinity;
    while (found.length < total) {
      const { devices, total_count: count } = await call<{ devices: Device[]; total_count: number }>(
        'GET',
        `/v3/devices?expand=${PARTS}&limit=${PAGE}&offset=${found.length}`,
      );
      found.push(...devices);
      total = devices.length === 0 ? 0 : count;
    }
    return found;
  });
}

/** One, by id or slug, with its properties. */
export async function readDevice(idOrSlug: string): Promise<Device> {
  const address = `${path`/v3/devices/${idOrSlug}`}?expand=${PARTS},properties`;
  const read = async (): Promise<[Device]> => [(await call<{ device: Device }>('GET', address)).device];
  const [device] = await asHeard(read);
  return device;
}

async function asHeard<Devices extends Device[]>(read: () => Promise<Devices>): Promise<Devices> {
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
