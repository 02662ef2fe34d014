/** Workload W on a whole gateway: a blueprint for each kind of device, and devices that may log in. */
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import {
  assignBlueprint,
  type GatewayClient,
  inParallel,
  provisionDevice,
  type ProvisionedDevice,
} from './gateway-client.ts';
import type { DeviceLogin } from './telemetry-load-parameters.ts';
import { attributeTypeOf, type Workload, type WorkloadDevice } from './workload.ts';

const PROVISIONED_AT_ONCE = 4;

/** Uploads the blueprints and provisions the devices; resolves with the logins in the order of the workload. */
export async function provisionWorkload(
  client: GatewayClient,
  workload: Pick<Workload, 'devices'>,
  upload: (zip: Uint8Array<ArrayBuffer>) => Promise<string>,
): Promise<(DeviceLogin & { device: ProvisionedDevice })[]> {
  const blueprintIds = new Map<string, string>();
  for (const device of workload.devices)
    if (!blueprintIds.has(device.kind))
      blueprintIds.set(device.kind, await upload(await blueprintOf(device)));
  return inParallel(workload.devices, PROVISIONED_AT_ONCE, async ({ index, kind }) => {
    const device = await provisionDevice(client, `Device ${index}`);
    const { id, config } = device;
    await assignBlueprint(client, id, blueprintIds.get(kind) ?? '');
    if (config.credentials.protocol !== 'MQTT') throw new Error('the device got no password');
    const { username, password } = config.credentials;
    return { hardwareId: config.hardwareId, channelId: config.channelId, username, password, device };
  });
}

/** A zip with the manifest alone; JSON is YAML. */
async function blueprintOf({ kind, signals }: WorkloadDevice): Promise<Uint8Array<ArrayBuffer>> {
  const telemetry = signals.map((signal) => [
    signal.name,
    {
      display_name: signal.name,
      type: attributeTypeOf(signal),
      ...(signal.form === 'state' && { enum: [...signal.words] }),
    },
  ]);
  const manifest = {
    blueprint_spec: 'device/3.0',
    display_name: kind,
    icon: 'enapter-battery-inverter',
    runtime: { type: 'embedded' },
    telemetry: Object.fromEntries(telemetry) as Record<string, unknown>,
  };
  const files = new Map([['manifest.yml', Buffer.from(JSON.stringify(manifest))]]);
  return new Uint8Array(await writeArchive(files));
}
