/** A device of the simulation: a real MQTT session, few messages, and a journal of what was acknowledged. */
import mqtt, { type MqttClient } from 'mqtt';
import type { ProvisionedDevice } from '../../support/gateway-client.ts';
import { Attempts } from '../world/journal.ts';
import type { SimulatedGateway } from './gateway.ts';

interface Request {
  id: string;
  arguments: Record<string, unknown>;
}

export class SimulatedDevice {
  readonly id: string;
  /** By Unix second, stamped by the device; the value is the second itself. */
  readonly samples = new Attempts<number>();
  readonly logs = new Attempts<string>();
  /** How often each command reached it. */
  readonly deliveries = new Map<number, number>();
  /** The newest value acknowledged. */
  latest: number | undefined;
  readonly #device: ProvisionedDevice;
  readonly #gateway: SimulatedGateway;
  #client: MqttClient | undefined;
  #number = 0;

  constructor(device: ProvisionedDevice, gateway: SimulatedGateway) {
    this.id = device.id;
    this.#device = device;
    this.#gateway = gateway;
  }

  /** Connects when it is not; the gateway ends sessions that say nothing for long. */
  async connect(): Promise<void> {
    if (this.#client?.connected) return;
    this.#client?.end(true);
    const { config } = this.#device;
    if (config.credentials.protocol !== 'MQTT') throw new Error('the device speaks no plain MQTT');
    const { username, password } = config.credentials;
    const client = mqtt.connect({
      host: '127.0.0.1',
      port: this.#gateway.mqttPort,
      clientId: '',
      keepalive: 0,
      reconnectPeriod: 0,
      username,
      password,
    });
    this.#client = client;
    client.on('error', () => undefined);
    client.on('message', (_topic, payload) => this.#obey(JSON.parse(payload.toString('utf8')) as Request));
    await this.#gateway.settled(
      new Promise<void>((resolve, reject) => {
        client.once('connect', () => resolve());
        client.once('close', () => reject(new Error('the device was turned away')));
      }),
    );
    const topic = `v1/to/${config.hardwareId}/${config.channelId}/v1/command/requests`;
    await this.#gateway.settled(client.subscribeAsync(topic, { qos: 1 }));
  }

  /** The network is gone, without a word. */
  cut(): void {
    this.#client?.stream.destroy();
  }

  async leave(): Promise<void> {
    this.#client?.end(true);
    this.#client = undefined;
  }

  /**
   * One measurement; stamped when `timestampS` is given, by the time of receipt otherwise. A box without the time takes
   * the latter and acknowledges it when it knows: `isAwaited` false. True: acknowledged.
   */
  async measure(timestampS: number | undefined, isAwaited: boolean): Promise<boolean> {
    const value = timestampS === undefined ? (this.#number += 1) / 1_000 : timestampS % 1_000_000;
    if (timestampS !== undefined) this.samples.attempt(timestampS);
    const isAcknowledged = await this.#publish(
      'v1/telemetry',
      {
        ...(timestampS !== undefined && { timestamp: timestampS }),
        battery_power: value,
      },
      isAwaited,
    );
    if (!isAcknowledged || !isAwaited) {
      this.latest = undefined;
      return false;
    }
    if (timestampS !== undefined) this.samples.acknowledge(timestampS);
    this.latest = value;
    return true;
  }

  async log(): Promise<void> {
    const message = `entry ${this.logs.count}`;
    this.logs.attempt(message);
    if (await this.#publish('v3/logs', { message, severity: 'info', persist: true }))
      this.logs.acknowledge(message);
  }

  #obey({ id, arguments: { limit_w: limit } }: Request): void {
    const tag = Number(limit);
    this.deliveries.set(tag, (this.deliveries.get(tag) ?? 0) + 1);
    // Without an acknowledgement the execution ends by its timeout, which is judged as such.
    void this.#publish('v1/command/responses', { id, state: 'completed', payload: { tag } }, false);
  }

  async #publish(subject: string, body: object, isAwaited = true): Promise<boolean> {
    const client = this.#client;
    if (!client?.connected) return false;
    const { hardwareId, channelId } = this.#device.config;
    const sent = new Promise<boolean>((resolve) => {
      const lost = (): void => resolve(false);
      client.once('close', lost);
      client.publish(
        `v1/from/${hardwareId}/${channelId}/${subject}`,
        JSON.stringify(body),
        { qos: 1 },
        (error) => {
          client.off('close', lost);
          resolve(!error);
        },
      );
    });
    return isAwaited ? this.#gateway.settled(sent) : false;
  }
}
