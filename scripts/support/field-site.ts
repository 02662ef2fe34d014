/** A whole gateway whose module polls field devices by the sample blueprint, for benchmarks. */
import { type ChildProcess, fork } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeArchive } from '../../src/capabilities/blueprints/source/archive.ts';
import type { Clock } from '../../src/platform/clock/index.ts';
import type { FieldDevicesOrder, FromFieldDevices, Poll, ToFieldDevices } from './field-devices.ts';
import { createGatewayClient, type GatewayClient, inParallel, uploadBlueprint } from './gateway-client.ts';
import {
  createTokens,
  type GatewayHome,
  type GatewayProcess,
  programOf,
  startGateway,
} from './gateway-process.ts';

const PROJECT_ROOT = join(import.meta.dirname, '..', '..');
const SAMPLE = join(PROJECT_ROOT, 'docs/samples/blueprints/modbus-inverter');
const TEMPLATE = join(import.meta.dirname, 'field-template.yml');
const PROVISIONED_AT_ONCE = 4;
const MODULE_START_MS = 10_000;
const MODULE_POLL_MS = 50;

/** Where a device is. */
export interface FieldAddress {
  address: string;
  inverterUnit: number;
  meterUnit: number;
}

export interface FieldSite {
  readonly client: GatewayClient;
  /** Pid of the communication module. */
  readonly modulePid: number;
  readonly deviceIds: readonly string[];
  stop(): Promise<void>;
}

/**
 * Starts the gateway with a Lua device for each address; they begin to poll at once.
 * @param kind the sample blueprint, or a device template with the same registers
 */
export async function startFieldSite(
  home: GatewayHome,
  clock: Clock,
  addresses: readonly FieldAddress[],
  kind: 'sample' | 'template' = 'sample',
): Promise<FieldSite> {
  const gateway = startGateway(home, clock);
  const stop = async (): Promise<void> => void (await gateway.end('SIGTERM'));
  try {
    await gateway.healthy();
    const tokens = await createTokens(home, 'INSTALLER', 2);
    const client = createGatewayClient({ baseUrl: home.baseUrl, tokens, clock });
    const deviceIds = await addFieldDevices(client, home, tokens[0] ?? '', addresses, kind);
    return { client, modulePid: await modulePidOf(gateway, clock), deviceIds, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** A Lua device for each address, on the module that the gateway runs; resolves with their ids. */
export async function addFieldDevices(
  client: GatewayClient,
  home: GatewayHome,
  token: string,
  addresses: readonly FieldAddress[],
  kind: 'sample' | 'template' = 'sample',
): Promise<string[]> {
  const blueprintId =
    kind === 'sample'
      ? await uploadBlueprint(home.baseUrl, token, await sampleArchive())
      : await templateBlueprint(client, home, token);
  const runtimeId = await idOfGatewayDevice(client);
  return inParallel(addresses, PROVISIONED_AT_ONCE, async (address, index) => {
    const body = { runtime_id: runtimeId, blueprint_id: blueprintId, name: `Inverter ${index}` };
    const { device_id: id } = await client.json({ method: 'POST', path: '/provisioning/lua_device', body });
    const set = {
      address: address.address,
      unit_id: address.inverterUnit,
      meter_unit_id: address.meterUnit,
    };
    const path = `/devices/${String(id)}/configuration/connection`;
    await client.json({ method: 'PATCH', path, body: { set } });
    return String(id);
  });
}

async function templateBlueprint(client: GatewayClient, home: GatewayHome, token: string): Promise<string> {
  const response = await fetch(new URL('/v3/library/devices', home.baseUrl), {
    method: 'POST',
    headers: { 'X-Service-Auth-Token': token, 'Content-Type': 'application/yaml' },
    body: readFileSync(TEMPLATE),
  });
  if (!response.ok) throw new Error(`the template is refused: ${await response.text()}`);
  const { device } = (await response.json()) as { device: { id: string } };
  const made = await client.json({
    method: 'POST',
    path: `/library/devices/${device.id}/blueprint`,
    body: {},
  });
  return (made['blueprint'] as { id: string }).id;
}

async function sampleArchive(): Promise<Uint8Array<ArrayBuffer>> {
  const entries = readdirSync(SAMPLE, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = new Map(paths.map((path) => [path.slice(SAMPLE.length + 1), readFileSync(path)]));
  return new Uint8Array(await writeArchive(files));
}

async function idOfGatewayDevice(client: GatewayClient): Promise<string> {
  const { devices } = (await client.json({ path: '/devices?limit=100' })) as {
    devices: { id: string; type: string }[];
  };
  const own = devices.find(({ type }) => type === 'GATEWAY');
  if (own === undefined) throw new Error('the site has no GATEWAY device');
  return own.id;
}

/** The gateway starts the module once it has a device; a busy machine takes its time over that. */
async function modulePidOf({ pid }: GatewayProcess, clock: Clock): Promise<number> {
  const untilMs = clock.monotonicMs() + MODULE_START_MS;
  for (;;)
    try {
      return programOf(pid, 'field-module');
    } catch (error) {
      if (clock.monotonicMs() > untilMs) throw error;
      await clock.sleep(MODULE_POLL_MS);
    }
}

/** A process of field devices. */
export interface FieldDevices {
  /** In the order of the devices. */
  readonly ports: readonly number[];
  /** Everything these devices answered so far. */
  polls(): Promise<readonly Poll[]>;
  stop(): void;
}

export async function startFieldDevices(order: FieldDevicesOrder): Promise<FieldDevices> {
  const child = fork(join(import.meta.dirname, 'field-devices-process.ts'), { execArgv: [] });
  const say = (message: ToFieldDevices): void => void child.send(message);
  say({ kind: 'start', order });
  const ready = await next(child, 'ready');
  return {
    ports: ready.ports,
    polls: async () => {
      say({ kind: 'tell polls' });
      return (await next(child, 'polls')).polls;
    },
    stop: () => child.disconnect(),
  };
}

function next<Kind extends FromFieldDevices['kind']>(
  child: ChildProcess,
  kind: Kind,
): Promise<FromFieldDevices & { kind: Kind }> {
  return new Promise((resolve, reject) => {
    const onMessage = (message: FromFieldDevices): void => {
      if (message.kind !== kind) return;
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(message as FromFieldDevices & { kind: Kind });
    };
    const onExit = (): void => reject(new Error('the process of field devices ended'));
    child.on('message', onMessage);
    child.once('exit', onExit);
  });
}
