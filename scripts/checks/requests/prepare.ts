/** What generated requests need to find in a gateway: a device, its blueprint, a module. */
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { writeArchive } from '../../../src/capabilities/blueprints/source/archive.ts';
import type { GatewayClient } from '../../support/gateway-client.ts';
import { membersOf } from './description.ts';
import type { Stock } from './pool.ts';

const LUA_SAMPLE = join(import.meta.dirname, '..', '..', '..', 'docs', 'samples', 'blueprints', 'relay');

const OWN_PROFILE = `blueprint_spec: profile/1.0
display_name: Flywheel
telemetry: { spin: { display_name: Spin, type: float, unit: rpm } }
`;

const OWN_TEMPLATE = `template: device/1
name: Well Pump
maker: Acme
products: [WP 1]
category: sensors
sources: [manual]
verified: one source
modbus: { transports: [tcp] }
values:
  flow: { input: 3, name: Flow, unit: m3/h, scale: 0.1 }
`;

interface Receiver {
  url: string;
  stop(): Promise<void>;
}

/** Takes whatever a target or a channel sends. */
export async function startReceiver(): Promise<Receiver> {
  const server = createServer((request, answer) => {
    request.resume().on('end', () => answer.writeHead(204).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The bytes of a good answer. */
export type Fetch = (path: string, body?: Uint8Array<ArrayBuffer>) => Promise<Buffer>;

/**
 * @param device exists already, with the sample blueprint and an alert
 * @param dataDir of the gateway, which nobody has claimed yet
 * @param receiverUrl of `startReceiver`
 */
export async function prepareStock(
  client: Pick<GatewayClient, 'json'>,
  device: { id: string; slug: string },
  dataDir: string,
  receiverUrl: string,
  bytes: Fetch,
): Promise<Stock> {
  const { site } = await client.json({ path: '/site' });
  const { device: record } = await client.json({ path: `/devices/${device.id}?expand=manifest` });
  const { devices } = await client.json({ path: '/devices?type.in=VIRTUAL_UCM,GATEWAY' });
  const { alerts } = await client.json({ path: `/alerts?device_id.in=${device.id}` });
  const { blueprint_id: blueprintId, manifest } = membersOf(record) as Record<string, unknown>;
  const groups = membersOf(membersOf(manifest)['configuration']);
  const [group = '', declared] = Object.entries(groups)[0] ?? [];
  return {
    siteId: String(membersOf(site)['id']),
    claimCode: readFileSync(join(dataDir, 'claim-code'), 'utf8').trim(),
    device,
    moduleId: String(membersOf((devices as unknown[])[0])['id']),
    blueprintId: String(blueprintId),
    luaBlueprintId: await uploadSample(bytes),
    profilesZip: await bytes('/v3/blueprints/device_profiles/download'),
    ownProfileZip: await writeArchive(new Map([['energy/flywheel.yml', Buffer.from(OWN_PROFILE)]])),
    ownTemplate: Buffer.from(OWN_TEMPLATE),
    alertId: String(membersOf((alerts as unknown[])[0])['id']),
    receiverUrl,
    blueprintZip: await bytes(`/v3/blueprints/${String(blueprintId)}/zip?view=ORIGINAL`),
    attributes: Object.keys(membersOf(membersOf(manifest)['telemetry'])),
    configuration: { group, parameters: Object.keys(membersOf(membersOf(declared)['parameters'])) },
  };
}

async function uploadSample(bytes: Fetch): Promise<string> {
  const files = readdirSync(LUA_SAMPLE).map((name) => [name, readFileSync(join(LUA_SAMPLE, name))] as const);
  const zip = await writeArchive(new Map(files));
  const answer = JSON.parse(
    (await bytes('/v3/blueprints/upload', Uint8Array.from(zip))).toString(),
  ) as unknown;
  return String(membersOf(answer)['id']);
}
