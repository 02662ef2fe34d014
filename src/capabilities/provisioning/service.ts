import { createHash, randomBytes as systemRandomBytes, randomUUID, timingSafeEqual } from 'node:crypto';
import { Emitter } from '../../lib/emitter.ts';
import { alreadyExists, notFound, unprocessable } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import type { Role } from '../../lib/role.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Log } from '../../platform/log/index.ts';
import type { Database } from '../../platform/sqlite/index.ts';
import { BUILT_IN_IDS } from '../blueprints/index.ts';
import { type Device, type DeviceService, type DeviceType, isModule } from '../devices/index.ts';
import type {
  Addresses,
  CertificateIssuer,
  ConnectionConfiguration,
  MqttCredentials,
  MqttProtocol,
  ProvisioningEvents,
} from './model.ts';
import { createCredentialStore, type StoredPassword } from './store.ts';

/** Channel of a device that owns its hardware id. */
const OWN_CHANNEL = 'ucm';

export interface Provisioned {
  device: Device;
  configuration?: ConnectionConfiguration;
}

interface ProvisioningOptions {
  database: Database;
  clock: Clock;
  log: Log;
  devices: DeviceService;
  addresses: Addresses;
  certificates?: CertificateIssuer | undefined;
  /** Name of the gateway's own device when it is made. */
  gatewayName: string;
  newId?: () => string;
  randomBytes?: RandomBytes;
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

interface NewLuaDevice {
  name: string;
  slug?: string | undefined;
  runtimeId: string;
  blueprintId: string;
}

interface MadeCredentials {
  credentials: MqttCredentials;
  /** Stores the hash or fingerprint, within the caller's transaction. */
  store: (deviceId: string) => void;
}

/**
 * Provisioning: creates devices together with the credentials that they need to connect. Source: docs/interface/http.md#provisioning
 * and docs/interface/http.md#connection-configuration, docs/interface/mqtt-devices.md#credentials.
 */
export class Provisioning {
  readonly events: Emitter<ProvisioningEvents>;
  readonly #options: ProvisioningOptions;
  readonly #store;
  readonly #random: RandomBytes;
  readonly #gatewayId: string;
  readonly #moduleId: string;

  constructor(options: ProvisioningOptions) {
    const { database, devices, log } = options;
    this.#options = options;
    this.#store = createCredentialStore(database);
    this.#random = options.randomBytes ?? systemRandomBytes;
    this.events = new Emitter(log.child({ component: 'provisioning' }));
    this.#gatewayId = this.#ensureGateway().id;
    this.#moduleId = this.#ensureBuiltInModule().id;
    devices.events.on('device_deleted', 'provisioning', ({ device }) => {
      const { hardwareId, upstreamId } = device.communication;
      if (hardwareId !== undefined && upstreamId === undefined)
        this.events.emit('credentials_revoked', { hardwareId });
    });
  }

  /** The gateway's own device and the module that is built in, as they are now; made at first start. */
  get own(): { gateway: Device; module: Device } {
    const { devices } = this.#options;
    return { gateway: devices.require(this.#gatewayId), module: devices.require(this.#moduleId) };
  }

  /**
   * A new device with an address of its own, and its configuration.
   * @throws GatewayError already_exists, device_limit_reached, not_available_on_gateway
   */
  async standalone(
    {
      name,
      slug,
      protocol = this.#defaultProtocol(),
    }: { name: string; slug?: string | undefined; protocol?: MqttProtocol | undefined },
    host: string,
  ): Promise<Required<Provisioned>> {
    this.#requireListener(protocol);
    const hardwareId = newHardwareId(this.#random);
    const made = await this.#makeCredentials(hardwareId, protocol);
    return this.#create({ name, slug, type: 'STANDALONE', hardwareId }, { protocol, made }, host);
  }

  /** The same hardware id again is the same device. @throws GatewayError already_exists */
  async module(fields: NewModule, host: string): Promise<Provisioned> {
    const known = this.#renamedModule(fields);
    if (known) return known;
    const protocol = this.#defaultProtocol();
    const made = await this.#makeCredentials(fields.hardwareId, protocol);
    // Another call for the same hardware id may have been faster.
    return this.#renamedModule(fields) ?? this.#create(fields, { protocol, made }, host);
  }

  /** @throws GatewayError device_not_found, invalid_runtime, runtime_full, blueprint_not_found, invalid_blueprint, already_exists */
  luaDevice({ name, slug, runtimeId, blueprintId }: NewLuaDevice): Device {
    const { devices, newId = randomUUID } = this.#options;
    const asked = devices.require(runtimeId);
    if (asked.type !== 'GATEWAY' && !isModule(asked))
      throw unprocessable(
        'invalid_runtime',
        `"${asked.name}" runs no scripts: a runtime is a communication module or the gateway.`,
      );
    const runtime = asked.type === 'GATEWAY' ? this.own.module : asked;
    const { hardwareId } = runtime.communication;
    if (hardwareId === undefined) throw new Error(`module ${runtime.id} has no hardware id`);
    const carried = devices
      .all()
      .filter(({ communication }) => communication.upstreamId === runtime.id).length;
    if (carried >= LIMITS.module.scripts)
      throw unprocessable(
        'runtime_full',
        `"${runtime.name}" runs ${carried} devices already and takes no more.`,
        { limit: LIMITS.module.scripts },
      );
    devices.requireRunnable(blueprintId, runtime.id);
    const id = newId();
    // The channel never changes and identifies the device.
    const channelId = id.replaceAll('-', '');
    const communication = { type: 'UCM_LUA' as const, upstreamId: runtime.id, hardwareId, channelId };
    return devices.create({ id, name, slug, type: 'LUA', blueprintId, communication });
  }

  /**
   * A device without credentials, whose messages the gateway makes itself.
   * @throws already_exists, device_limit_reached
   */
  announced(fields: { name: string; slug?: string | undefined; blueprintId: string }): Device {
    const communication = localAddress(newHardwareId(this.#random));
    return this.#options.devices.create({ ...fields, type: 'STANDALONE', communication });
  }

  /**
   * New credentials for a caller of this role; all that were made before are void, and sessions with them are closed.
   * @throws GatewayError config_generation_not_supported, not_available_on_gateway
   */
  async generateConfiguration(
    device: Device,
    protocol: MqttProtocol,
    host: string,
    role?: Role,
  ): Promise<ConnectionConfiguration> {
    const { type, hardwareId } = device.communication;
    // The gateway itself configures built-in devices: new credentials would cut off the running module.
    if (type === 'MQTT_V1_LOCALHOST' || !type.startsWith('MQTT_') || hardwareId === undefined)
      throw unprocessable(
        'config_generation_not_supported',
        'This device has no connection of its own to configure.',
        { communication_type: type },
      );
    this.#requireListener(protocol);
    const made = await this.#makeCredentials(hardwareId, protocol);
    const { devices } = this.#options;
    const present = devices.get(device.id);
    if (!present) throw notFound('device_not_found', 'The device was deleted.');
    const storeCredentials = (): void => made.store(device.id);
    const updated = devices.setCommunicationType(present, communicationOf(protocol), storeCredentials, role);
    this.events.emit('credentials_revoked', { hardwareId });
    return this.#configurationOf(updated, protocol, made.credentials, host);
  }

  /** Fresh credentials of the built-in module, for the program that the gateway starts; earlier ones are void. */
  async configureOwnModule(host: string): Promise<ConnectionConfiguration> {
    const { module } = this.own;
    const made = await this.#makeCredentials(module.communication.hardwareId ?? '', 'MQTT');
    made.store(module.id);
    const configuration = this.#configurationOf(module, 'MQTT', made.credentials, host);
    return { ...configuration, mqttHost: host, timeSyncHost: host };
  }

  /** The hardware id of a login, or undefined. */
  verifyPassword(username: string, password: Buffer): string | undefined {
    return isPassword(this.#store.password(username), password) ? username : undefined;
  }

  /** The hardware id that a client certificate stands for; undefined when it was revoked or never issued. */
  verifyCertificate(fingerprint: string): string | undefined {
    return this.#store.hardwareIdOfCertificate(fingerprint);
  }

  #ensureGateway(): Device {
    const { devices, gatewayName } = this.#options;
    return (
      devices.all().find(({ type }) => type === 'GATEWAY') ??
      devices.create({
        name: gatewayName,
        slug: 'gateway',
        type: 'GATEWAY',
        blueprintId: BUILT_IN_IDS.gateway,
        communication: localAddress(newHardwareId(this.#random)),
      })
    );
  }

  /** The first local module; modules on other boards are provisioned later. */
  #ensureBuiltInModule(): Device {
    const { devices } = this.#options;
    const existing = devices
      .all()
      .find(
        ({ type, communication }) => type === 'VIRTUAL_UCM' && communication.type === 'MQTT_V1_LOCALHOST',
      );
    // A module from before modules had a blueprint gets it now.
    if (existing?.blueprintId === BUILT_IN_IDS.empty)
      return devices.assignBlueprint(existing, BUILT_IN_IDS.communicationModule);
    if (existing) return existing;
    return devices.create({
      name: 'Communication Module',
      type: 'VIRTUAL_UCM',
      blueprintId: BUILT_IN_IDS.communicationModule,
      communication: localAddress(`V${this.#random(16).toString('hex').toUpperCase()}`),
    });
  }

  #defaultProtocol(): MqttProtocol {
    const { addresses, certificates } = this.#options;
    return certificates && addresses.mqttsPort() !== undefined ? 'MQTTS' : 'MQTT';
  }

  #requireListener(protocol: MqttProtocol): number {
    const { addresses, certificates } = this.#options;
    const port = protocol === 'MQTT' ? addresses.mqttPort() : certificates && addresses.mqttsPort();
    if (port !== undefined) return port;
    const message = `This gateway does not listen for ${protocol} now.`;
    throw unprocessable('not_available_on_gateway', message, { protocol });
  }

  #create(
    { hardwareId, ...fields }: NewConnected,
    { protocol, made }: { protocol: MqttProtocol; made: MadeCredentials },
    host: string,
  ): Required<Provisioned> {
    const device = this.#options.devices.create(
      {
        ...fields,
        blueprintId: fields.type === 'VIRTUAL_UCM' ? BUILT_IN_IDS.communicationModule : BUILT_IN_IDS.empty,
        communication: { type: communicationOf(protocol), hardwareId, channelId: OWN_CHANNEL },
      },
      ({ id }) => made.store(id),
    );
    return { device, configuration: this.#configurationOf(device, protocol, made.credentials, host) };
  }

  /** An existing module, renamed as the call says. @throws GatewayError already_exists */
  #renamedModule({ name, hardwareId, type }: NewModule): Provisioned | undefined {
    const { devices } = this.#options;
    const existing = devices.atAddress(hardwareId, OWN_CHANNEL);
    if (!existing) return undefined;
    if (existing.type !== type)
      throw alreadyExists('A device of another type has this hardware id.', 'hardware_id', hardwareId);
    return { device: devices.update(existing, { name }) };
  }

  /** Fresh credentials; nothing is stored yet. */
  async #makeCredentials(hardwareId: string, protocol: MqttProtocol): Promise<MadeCredentials> {
    const { certificates, clock } = this.#options;
    const nowMs = clock.wallMs();
    if (protocol === 'MQTT' || !certificates) {
      const { password, stored } = newPassword(hardwareId, this.#random);
      return {
        credentials: { username: hardwareId, password },
        store: (deviceId) => this.#store.putPassword(stored, deviceId, nowMs),
      };
    }
    const issued = await certificates.issueClientCertificate(hardwareId);
    return {
      credentials: {
        privateKey: issued.privateKeyPem,
        certificate: issued.certificatePem,
        caChain: certificates.caPem,
      },
      store: (deviceId) => this.#store.putCertificate({ ...issued, hardwareId }, deviceId, nowMs),
    };
  }

  #configurationOf(
    { communication: { hardwareId = '', channelId = OWN_CHANNEL } }: Device,
    mqttProtocol: MqttProtocol,
    mqttCredentials: MqttCredentials,
    host: string,
  ): ConnectionConfiguration {
    const { addresses } = this.#options;
    const address = addresses.publicHost ?? host;
    return {
      mqttHost: address,
      mqttPort: this.#requireListener(mqttProtocol),
      mqttProtocol,
      mqttCredentials,
      timeSyncProtocol: 'HTTP',
      timeSyncHost: address,
      timeSyncPort: addresses.httpPort(),
      hardwareId,
      channelId,
    };
  }
}

const localAddress = (hardwareId: string) => ({
  type: 'MQTT_V1_LOCALHOST' as const,
  hardwareId,
  channelId: OWN_CHANNEL,
});

function communicationOf(protocol: MqttProtocol): 'MQTT_V1_TLS' | 'MQTT_V1_PLAINTEXT' {
  return protocol === 'MQTTS' ? 'MQTT_V1_TLS' : 'MQTT_V1_PLAINTEXT';
}

// Device credentials. A password has 256 random bits, so one round of a salted hash protects it as well as
// many would, and a thousand devices can log in after a restart without a queue.

const PASSWORD_BYTES = 32;
const SALT_BYTES = 16;
const HARDWARE_ID_BYTES = 20;

/** Makes so many random bytes. */
export type RandomBytes = (sizeBytes: number) => Buffer;

/** 40 upper-case hexadecimal digits. */
function newHardwareId(random: RandomBytes): string {
  return random(HARDWARE_ID_BYTES).toString('hex').toUpperCase();
}

/** A password and what is stored of it. */
function newPassword(hardwareId: string, random: RandomBytes): { password: string; stored: StoredPassword } {
  const password = random(PASSWORD_BYTES).toString('base64url');
  return { password, stored: { hardwareId, ...storedPassword(password, random) } };
}

/** The stored form of a password. */
export function storedPassword(password: string, random: RandomBytes): Hashed {
  const salt = random(SALT_BYTES);
  return { salt, sha256: hashOf(salt, Buffer.from(password)) };
}

type Hashed = Omit<StoredPassword, 'hardwareId'>;

/** Compares in constant time; without a stored password it takes as long. */
export function isPassword(stored: Hashed | undefined, given: Buffer): boolean {
  const { salt, sha256 } = stored ?? NO_PASSWORD;
  return timingSafeEqual(hashOf(salt, given), sha256) && stored !== undefined;
}

const NO_PASSWORD = { salt: Buffer.alloc(SALT_BYTES), sha256: Buffer.alloc(32) };

function hashOf(salt: Buffer, password: Buffer): Buffer {
  return createHash('sha256').update(salt).update(password).digest();
}
