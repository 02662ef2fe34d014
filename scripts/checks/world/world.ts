/** Makes what the clients of a check work with: tokens, devices that speak, and what may be written to them. */
import type { CompiledManifest } from '../../../src/capabilities/blueprints/index.ts';
import type { Clock } from '../../../src/platform/clock/index.ts';
import {
  assignBlueprint,
  batteryInverterBlueprint,
  createGatewayClient,
  type GatewayClient,
  inParallel,
  provisionDevice,
} from '../../support/gateway-client.ts';
import { createTokens, type GatewayHome } from '../../support/gateway-process.ts';
import type { Random } from '../../support/random.ts';
import { DeviceActor } from './device-actor.ts';
import { ExecutionJournal } from './execution-journal.ts';
import { attributesOf } from './samples.ts';
import type { World } from './verify.ts';

export interface PopulateOptions {
  home: GatewayHome;
  devices: number;
  attributes: number;
  clock: Clock;
  random: Random;
  /** Number of the present run of the gateway. */
  run: () => number;
  say: (text: string) => void;
  /** Told how long each acknowledgement of telemetry took. */
  onLatency?: (latencyMs: number) => void;
}

export interface PopulatedWorld extends World {
  commandName: string;
}

const TOKENS = 8;
const PROVISIONED_AT_ONCE = 8;

/** The gateway must serve; the devices begin to speak at once. */
export async function populate(options: PopulateOptions): Promise<PopulatedWorld> {
  const { clock, devices, say } = options;
  const beganAtMs = clock.wallMs();
  const tokens = await createTokens(options.home, 'INSTALLER', TOKENS);
  const client = createGatewayClient({ baseUrl: options.home.baseUrl, tokens, clock });
  const blueprintId = await batteryInverterBlueprint(client);
  const numbers = Array.from({ length: devices }, (_, index) => index);
  const provisioned = await inParallel(numbers, PROVISIONED_AT_ONCE, async (index) => {
    const device = await provisionDevice(client, `Device ${index}`);
    await assignBlueprint(client, device.id, blueprintId);
    return device;
  });
  const manifest = await manifestOf(client, provisioned[0]?.id ?? '');
  const attributes = attributesOf(manifest, options.attributes);
  const property = propertyOf(manifest);
  const { commandName, tagArgument } = commandOf(manifest);
  const executions = new ExecutionJournal();
  say(
    `${devices} devices with ${attributes.length} attributes, property ${property}, command ${commandName}`,
  );
  const actors = provisioned.map(
    (device, index) =>
      new DeviceActor({
        index,
        device,
        attributes,
        property,
        tagArgument,
        executions,
        clock,
        random: options.random.fork(100 + index),
        run: options.run,
        onLatency: options.onLatency,
      }),
  );
  return { client, actors, attributes, property, commandName, tagArgument, executions, clock, beganAtMs };
}

export async function manifestOf(client: GatewayClient, deviceId: string): Promise<CompiledManifest> {
  const answer = await client.json({ path: `/devices/${deviceId}?expand=manifest` });
  return (answer['device'] as { manifest: CompiledManifest }).manifest;
}

/** A property that any text fits. */
function propertyOf(manifest: CompiledManifest): string {
  const found = Object.entries(manifest.properties).find(
    ([, { type, enum: choices }]) => type === 'string' && !choices,
  );
  if (!found) throw new Error('the blueprint declares no free text property');
  return found[0];
}

/** A command with one required number, which carries the tag. */
export function commandOf(manifest: CompiledManifest): { commandName: string; tagArgument: string } {
  for (const [commandName, { arguments: declared = {} }] of Object.entries(manifest.commands))
    for (const [tagArgument, { type }] of Object.entries(declared))
      if (type === 'float') return { commandName, tagArgument };
  throw new Error('the blueprint declares no command with a number argument');
}
