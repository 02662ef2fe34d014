/**
 * Provisioning: devices are made together with what they need to connect. Source: docs/interface/http.md#provisioning
 * and docs/interface/http.md#connection-configuration, docs/interface/mqtt-devices.md#credentials.
 */
import { randomBytes as systemRandomBytes, randomUUID } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { alreadyExists, gatewayError, notFound } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Role } from '../../lib/role.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { BUILT_IN_IDS } from '../blueprints/index.ts';
import type { Device, DeviceService, DeviceType } from '../devices/index.ts';
import type { Site } from '../site/index.ts';
import { isPassword, newHardwareId, newPassword, type RandomBytes } from './credentials.ts';
import type {
  Addresses,
  CertificateIssuer,
  ConnectionConfiguration,
  MqttCredentials,
  MqttProtocol,
  ProvisioningEvents,
} from './model.ts';
import { createCredentialStore, type CredentialStore } from './store.ts';

/** Channel of a device that owns its hardware id. */
const OWN_CHANNEL = 'ucm';

export interface NewStandalone {
  name: string;
  slug?: string | undefined;
  protocol?: MqttProtocol | undefined;
}

export interface Provisioned {
  device: Device;
  configuration?: ConnectionConfiguration;
}

export type Provisioning = ReturnType<typeof createProvisioning>;

interface ProvisioningOptions {
  /** state.db */
  database: Database;
  clock: Clock;
  log: Log;
  devices: DeviceService;
  site: Pick<Site, 'get'>;
  addresses: Addresses;
  certificates?: CertificateIssuer | undefined;
  /** Name of the gateway's own device when it is made. */
  gatewayName: string;
  newId?: () => string;
  randomBytes?: RandomBytes;
}

interface Parts {
  options: ProvisioningOptions;
  store: CredentialStore;
  events: Emitter<ProvisioningEvents>;
  random: RandomBytes;
  newId: () => string;
}

export function createProvisioning(options: ProvisioningOptions) {
  const log = options.log.child({ component: 'provisioning' });
  const { devices } = options;
  const events = new Emitter<ProvisioningEvents>(log);
  const parts: Parts = {
    options,
    store: createCredentialStore(options.database),
    events,
    random: options.randomBytes ?? systemRandomBytes,
    newId: options.newId ?? randomUUID,
  };
  const gatewayId = ensureGateway(parts).id;
  const moduleId = ensureBuiltInModule(parts).id;
  devices.events.on('device_deleted', 'provisioning', ({ device }) => {
    const { hardwareId, upstreamId } = device.communication;
    if (hardwareId !== undefined && upstreamId === undefined)
      events.emit('credentials_revoked', { hardwareId });
  });
  const own = ownDevices(devices, gatewayId, moduleId);

  return {
    events,
    /** The gateway's own device and the module that is built in; made at first start. */
    own,
    /** @throws GatewayError already_exists, device_limit_reached, not_available_on_gateway */
    standalone: async ({ name, slug, protocol = defaultProtocol(parts) }: NewStandalone, host: string) => {
      requireListener(parts, protocol);
      return createConnected(parts, { name, slug, type: 'STANDALONE' }, protocol, host);
    },
    /** The same hardware id again is the same device. @throws GatewayError already_exists */
    module: (
      fields: { name: string; hardwareId: string; type: 'VIRTUAL_UCM' | 'HARDWARE_UCM' },
      host: string,
    ) => provisionModule(parts, fields, host),
    /** @throws GatewayError device_not_found, invalid_runtime, runtime_full, blueprint_not_found, invalid_blueprint, already_exists */
    luaDevice: (fields: {
      name: string;
      slug?: string | undefined;
      runtimeId: string;
      blueprintId: string;
    }) => createLuaDevice(parts, fields, own.module),
    /**
     * New credentials for a caller of this role; all that were made before are void, and sessions with them are closed.
     * @throws GatewayError config_generation_not_supported, not_available_on_gateway
     */
    generateConfiguration: (device: Device, protocol: MqttProtocol, host: string, role?: Role) =>
      generate(parts, device, protocol, host, role),
    /** Fresh credentials of the built-in module, for the program that the gateway starts; earlier ones are void. */
    configureOwnModule: async (host: string): Promise<ConnectionConfiguration> => {
      const { module } = own;
      const made = await makeCredentials(parts, module.communication.hardwareId ?? '', 'MQTT');
      made.store(module.id);
      const configuration = configurationOf(parts, module, 'MQTT', made.credentials, host);
      return { ...configuration, mqttHost: host, timeSyncHost: host };
    },
    /** The hardware id of a login, or undefined. */
    verifyPassword: (username: string, password: Buffer) =>
      isPassword(parts.store.password(username), password) ? username : undefined,
    /** The hardware id that a client certificate stands for; undefined when it was revoked or never issued. */
    verifyCertificate: (fingerprint: string) => parts.store.hardwareIdOfCertificate(fingerprint),
  };
}

function ownDevices(devices: ProvisioningOptions['devices'], gatewayId: string, moduleId: string) {
  return {
    get gateway() {
      return devices.require(gatewayId);
    },
    get module() {
      return devices.require(moduleId);
    },
  };
}

function ensureGateway({ options, random }: Parts): Device {
  const existing = options.devices.all().find(({ type }) => type === 'GATEWAY');
  if (existing) return existing;
  return options.devices.create({
    name: options.gatewayName,
    slug: 'gateway',
    type: 'GATEWAY',
    blueprintId: BUILT_IN_IDS.gateway,
    communication: {
      type: 'MQTT_V1_LOCALHOST',
      hardwareId: newHardwareId(random),
      channelId: OWN_CHANNEL,
    },
  });
}

/** The first local module; others come from boards that are provisioned later. */
function ensureBuiltInModule({ options, random }: Parts): Device {
  const { devices } = options;
  const existing = devices
    .all()
    .find(({ type, communication }) => type === 'VIRTUAL_UCM' && communication.type === 'MQTT_V1_LOCALHOST');
  // One that was made before modules had a blueprint gets it now.
  if (existing?.blueprintId === BUILT_IN_IDS.empty)
    return devices.assignBlueprint(existing, BUILT_IN_IDS.communicationModule);
  if (existing) return existing;
  return devices.create({
    name: 'Communication Module',
    type: 'VIRTUAL_UCM',
    blueprintId: BUILT_IN_IDS.communicationModule,
    communication: {
      type: 'MQTT_V1_LOCALHOST',
      hardwareId: `V${random(16).toString('hex').toUpperCase()}`,
      channelId: OWN_CHANNEL,
    },
  });
}

function defaultProtocol({ options }: Parts): MqttProtocol {
  return options.certificates && options.addresses.mqttsPort() !== undefined ? 'MQTTS' : 'MQTT';
}

function requireListener({ options }: Parts, protocol: MqttProtocol): number {
  const { addresses, certificates } = options;
  const port = protocol === 'MQTT' ? addresses.mqttPort() : certificates && addresses.mqttsPort();
  if (port !== undefined) return port;
  const message = `This gateway does not listen for ${protocol} now.`;
  throw gatewayError('unprocessable', 'not_available_on_gateway', message, { protocol });
}

interface NewConnected {
  name: string;
  slug?: string | undefined;
  type: DeviceType;
  hardwareId: string;
}

interface NewModule extends NewConnected {
  type: 'VIRTUAL_UCM' | 'HARDWARE_UCM';
}

/** A new device with an address of its own, and its configuration. */
async function createConnected(
  parts: Parts,
  fields: Omit<NewConnected, 'hardwareId'>,
  protocol: MqttProtocol,
  host: string,
): Promise<Required<Provisioned>> {
  const hardwareId = newHardwareId(parts.random);
  const made = await makeCredentials(parts, hardwareId, protocol);
  return createWith(parts, { ...fields, hardwareId }, { protocol, made }, host);
}

function createWith(
  parts: Parts,
  { hardwareId, ...fields }: NewConnected,
  { protocol, made }: { protocol: MqttProtocol; made: MadeCredentials },
  host: string,
): Required<Provisioned> {
  const device = parts.options.devices.create(
    {
      ...fields,
      blueprintId: fields.type === 'VIRTUAL_UCM' ? BUILT_IN_IDS.communicationModule : BUILT_IN_IDS.empty,
      communication: { type: communicationOf(protocol), hardwareId, channelId: OWN_CHANNEL },
    },
    ({ id }) => made.store(id),
  );
  return { device, configuration: configurationOf(parts, device, protocol, made.credentials, host) };
}

async function provisionModule(parts: Parts, fields: NewModule, host: string): Promise<Provisioned> {
  const known = renamedModule(parts, fields);
  if (known) return known;
  const protocol = defaultProtocol(parts);
  const made = await makeCredentials(parts, fields.hardwareId, protocol);
  // Another call for the same one may have been quicker.
  return renamedModule(parts, fields) ?? createWith(parts, fields, { protocol, made }, host);
}

/** The module that is there already, with the name of the call. @throws GatewayError already_exists */
function renamedModule(parts: Parts, { name, hardwareId, type }: NewModule): Provisioned | undefined {
  const { devices } = parts.options;
  const existing = devices.atAddress(hardwareId, OWN_CHANNEL);
  if (!existing) return undefined;
  if (existing.type !== type)
    throw alreadyExists('A device of another type has this hardware id.', 'hardware_id', hardwareId);
  return { device: devices.update(existing, { name }) };
}

function createLuaDevice(
  { options, newId }: Parts,
  fields: { name: string; slug?: string | undefined; runtimeId: string; blueprintId: string },
  builtInModule: Device,
): Device {
  const { devices } = options;
  const asked = devices.require(fields.runtimeId);
  if (!RUNTIME_TYPES.has(asked.type))
    throw gatewayError(
      'unprocessable',
      'invalid_runtime',
      `"${asked.name}" runs no scripts: a runtime is a communication module or the gateway.`,
    );
  const runtime = asked.type === 'GATEWAY' ? builtInModule : asked;
  const { hardwareId } = runtime.communication;
  if (hardwareId === undefined) throw new Error(`module ${runtime.id} has no hardware id`);
  const carried = devices.all().filter(({ communication }) => communication.upstreamId === runtime.id).length;
  if (carried >= LIMITS.module.scripts)
    throw gatewayError(
      'unprocessable',
      'runtime_full',
      `"${runtime.name}" runs ${carried} devices already and takes no more.`,
      { limit: LIMITS.module.scripts },
    );
  devices.requireRunnable(fields.blueprintId, runtime.id);
  const id = newId();
  return devices.create({
    id,
    name: fields.name,
    slug: fields.slug,
    type: 'LUA',
    blueprintId: fields.blueprintId,
    communication: {
      type: 'UCM_LUA',
      upstreamId: runtime.id,
      hardwareId,
      // Never changes and says whose it is.
      channelId: id.replaceAll('-', ''),
    },
  });
}

const RUNTIME_TYPES: ReadonlySet<DeviceType> = new Set(['GATEWAY', 'VIRTUAL_UCM', 'HARDWARE_UCM']);

async function generate(
  parts: Parts,
  device: Device,
  protocol: MqttProtocol,
  host: string,
  role: Role | undefined,
): Promise<ConnectionConfiguration> {
  const { type, hardwareId } = device.communication;
  // What is built in has its configuration from the gateway itself: another one would cut off the module that runs.
  if (type === 'MQTT_V1_LOCALHOST' || !type.startsWith('MQTT_') || hardwareId === undefined)
    throw gatewayError(
      'unprocessable',
      'config_generation_not_supported',
      'This device has no connection of its own to configure.',
      { communication_type: type },
    );
  requireListener(parts, protocol);
  const made = await makeCredentials(parts, hardwareId, protocol);
  const { devices } = parts.options;
  const present = devices.get(device.id);
  if (!present) throw notFound('device_not_found', 'The device was deleted.');
  const storeCredentials = (): void => made.store(device.id);
  const updated = devices.setCommunicationType(present, communicationOf(protocol), storeCredentials, role);
  parts.events.emit('credentials_revoked', { hardwareId });
  return configurationOf(parts, updated, protocol, made.credentials, host);
}

interface MadeCredentials {
  credentials: MqttCredentials;
  /** Stores what is kept of them, within the caller's transaction. */
  store: (deviceId: string) => void;
}

/** Fresh credentials; nothing is stored yet. */
async function makeCredentials(
  { options, store, random }: Parts,
  hardwareId: string,
  protocol: MqttProtocol,
): Promise<MadeCredentials> {
  const nowMs = options.clock.wallMs();
  if (protocol === 'MQTT' || !options.certificates) {
    const { password, stored } = newPassword(hardwareId, random);
    return {
      credentials: { username: hardwareId, password },
      store: (deviceId) => store.putPassword(stored, deviceId, nowMs),
    };
  }
  const issued = await options.certificates.issueClientCertificate(hardwareId);
  return {
    credentials: {
      privateKey: issued.privateKeyPem,
      certificate: issued.certificatePem,
      caChain: options.certificates.caPem,
    },
    store: (deviceId) => store.putCertificate({ ...issued, hardwareId }, deviceId, nowMs),
  };
}

function communicationOf(protocol: MqttProtocol): 'MQTT_V1_TLS' | 'MQTT_V1_PLAINTEXT' {
  return protocol === 'MQTTS' ? 'MQTT_V1_TLS' : 'MQTT_V1_PLAINTEXT';
}

function configurationOf(
  parts: Parts,
  device: Device,
  mqttProtocol: MqttProtocol,
  mqttCredentials: MqttCredentials,
  host: string,
): ConnectionConfiguration {
  const { addresses } = parts.options;
  const address = addresses.publicHost ?? host;
  return {
    mqttHost: address,
    mqttPort: requireListener(parts, mqttProtocol),
    mqttProtocol,
    mqttCredentials,
    timeSyncProtocol: 'HTTP',
    timeSyncHost: address,
    timeSyncPort: addresses.httpPort(),
    hardwareId: device.communication.hardwareId ?? '',
    channelId: device.communication.channelId ?? OWN_CHANNEL,
  };
}
