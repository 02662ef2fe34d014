/** The manifests of devices, each read once for its blueprint. */
import { callFor, path } from './api.ts';
import type { Device, DeviceWithManifest, Manifest } from './shapes.ts';

/** In one request, so that its address stays short. */
const MANIFESTS_PER_QUESTION = 100;

const manifests = new Map<string, Promise<Manifest>>();

/** They are read anew when they are needed next. */
export const forgetManifests = (): void => manifests.clear();

/** Devices of one blueprint share it. */
export function manifestOf(device: Device): Promise<Manifest> {
  return manifests.get(device.blueprint_id) ?? hold(device.blueprint_id, askManifest(device));
}

function hold(blueprintId: string, asked: Promise<Manifest>): Promise<Manifest> {
  manifests.set(blueprintId, asked);
  asked.catch(() => manifests.delete(blueprintId));
  return asked;
}

const askManifest = ({ id }: Device): Promise<Manifest> =>
  callFor('manifest', 'GET', path`/v3/devices/${id}/manifest`);

/** Reads the manifests that were not asked for yet together, by one device of each blueprint. */
export function askManifests(devices: readonly Device[]): void {
  const ofEach = new Map(devices.map((device) => [device.blueprint_id, device]));
  const wanted = [...ofEach.values()].filter((device) => !manifests.has(device.blueprint_id));
  for (let from = 0; from < wanted.length; from += MANIFESTS_PER_QUESTION) {
    const part = wanted.slice(from, from + MANIFESTS_PER_QUESTION);
    const ids = part.map(({ id }) => id).join();
    const address = `/v3/devices?expand=manifest&id.in=${ids}&limit=${part.length}`;
    const asked = callFor<DeviceWithManifest[]>('devices', 'GET', address);
    for (const device of part)
      void hold(
        device.blueprint_id,
        // The device may have another blueprint by now, or be gone.
        asked.then(
          (found) =>
            found.find((one) => one.blueprint_id === device.blueprint_id)?.manifest ?? askManifest(device),
        ),
      );
  }
}
