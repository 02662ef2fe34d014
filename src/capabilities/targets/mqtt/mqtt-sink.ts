/** A broker as a target: messages at QoS 1, so many on their way at once, acknowledged or sent again. */
import { createHash } from 'node:crypto';
import type { MqttClient, MqttMessage } from '../../../platform/mqtt-client/index.ts';
import type { Device, Devices } from '../../devices/index.ts';
import type { LabelledRecord, LabelledSamples, MqttSettings, Pace, Sent, Sink } from '../model.ts';
import {
  availabilityMessage,
  discoveryMessages,
  gatewayAvailabilityTopic,
  stateMessages,
} from './home-assistant.ts';
import { recordMessages } from './record-messages.ts';
import { plainMessages, type SampleMessage } from './plain-messages.ts';
import { asFailure } from './target-client.ts';

interface MqttSinkOptions {
  settings: MqttSettings;
  client: MqttClient;
  site: () => { name: string };
  devices: Pick<Devices, 'all' | 'manifest' | 'connectivity' | 'events'>;
  /** True when a device goes to the target. */
  includes: (device: Device) => boolean;
  /** Messages that wait for their acknowledgement. */
  inFlightMax: number;
}

/** Topic and payload with what the packet needs around them. */
const HEADER_BYTES = 8;

export class MqttSink implements Sink {
  readonly #options: MqttSinkOptions;
  readonly #unsubscribe: (() => void)[] = [];
  /** Digest of what Home Assistant was told of a device, by its id. */
  readonly #told = new Map<string, string>();
  /** Devices that it should be told of again. */
  readonly #changed = new Set<string>();

  constructor(options: MqttSinkOptions) {
    this.#options = options;
    if (options.settings.form === 'HOME_ASSISTANT') this.#watchDevices();
  }

  get reconnects(): number {
    return this.#options.client.reconnects;
  }

  async send(samples: readonly LabelledSamples[], pace: Pace): Promise<Sent> {
    const { settings } = this.#options;
    const isHomeAssistant = settings.form === 'HOME_ASSISTANT';
    const messages = isHomeAssistant ? stateMessages(settings, samples) : plainMessages(settings, samples);
    await this.#connected();
    if (isHomeAssistant) await this.#tellDevices();
    return this.#deliver(messages, pace);
  }

  async sendRecords(records: readonly LabelledRecord[], pace: Pace): Promise<Sent> {
    await this.#connected();
    return this.#deliver(recordMessages(this.#options.settings, records), pace);
  }

  async #deliver(messages: Iterable<SampleMessage>, pace: Pace): Promise<Sent> {
    const sent: Sent = { samples: 0, bytes: 0, refusedSamples: 0, refusal: undefined };
    await this.#publish(messages, async (message) => {
      const bytes = Buffer.byteLength(message.topic) + Buffer.byteLength(message.payload) + HEADER_BYTES;
      await pace(bytes);
      sent.bytes += bytes;
      sent.samples += message.samples;
    });
    return sent;
  }

  async test(): Promise<void> {
    await asFailure(this.#options.client.connect());
    await this.#options.client.leave();
  }

  close(): void {
    for (const end of this.#unsubscribe) end();
    this.#options.client.close();
  }

  async #connected(): Promise<void> {
    const { client, settings, site } = this.#options;
    const isNew = await asFailure(client.connect());
    if (!isNew || settings.form !== 'HOME_ASSISTANT') return;
    this.#told.clear();
    const topic = gatewayAvailabilityTopic(settings, site().name);
    await asFailure(client.publish({ topic, payload: 'online', isRetained: true }));
  }

  async #publish(
    messages: Iterable<SampleMessage>,
    before: (message: SampleMessage) => Promise<void>,
  ): Promise<void> {
    const { client, inFlightMax } = this.#options;
    let onTheirWay: Promise<void>[] = [];
    for (const message of messages) {
      await before(message);
      onTheirWay.push(client.publish(message));
      if (onTheirWay.length < inFlightMax) continue;
      await asFailure(Promise.all(onTheirWay));
      onTheirWay = [];
    }
    await asFailure(Promise.all(onTheirWay));
  }

  #watchDevices(): void {
    const { events } = this.#options.devices;
    const owner = 'targets';
    const note = ({ device }: { device: Device }): void => void this.#changed.add(device.id);
    this.#unsubscribe.push(
      events.on('device_created', owner, note),
      events.on('device_updated', owner, note),
      events.on('blueprint_assigned', owner, note),
      events.on('connectivity_changed', owner, note),
    );
  }

  /** Configurations and availability of devices that are new or changed. */
  async #tellDevices(): Promise<void> {
    const { settings, devices, site, includes } = this.#options;
    const messages: SampleMessage[] = [];
    const told = new Map<string, string>();
    for (const device of devices.all()) {
      if (!includes(device) || (this.#told.has(device.id) && !this.#changed.has(device.id))) continue;
      const manifest = devices.manifest(device);
      const isOnline = devices.connectivity(device.id) === 'ONLINE';
      const all: MqttMessage[] = [
        ...discoveryMessages(settings, site().name, device, manifest),
        availabilityMessage(settings, site().name, device, isOnline),
      ];
      const digest = createHash('sha256').update(JSON.stringify(all)).digest('base64');
      told.set(device.id, digest);
      if (this.#told.get(device.id) !== digest)
        messages.push(...all.map((message) => ({ ...message, samples: 0 })));
    }
    this.#changed.clear();
    await this.#publish(messages, async () => undefined);
    for (const [id, digest] of told) this.#told.set(id, digest);
  }
}
