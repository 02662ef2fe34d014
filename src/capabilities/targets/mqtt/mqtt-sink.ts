/** A broker as a target: messages at QoS 1, so many on their way at once, acknowledged or sent again. */
import { createHash } from 'node:crypto';
import type { EpochS } from '../../../lib/time.ts';
import { type MqttClient, type MqttMessage, MqttRefusal } from '../../../platform/mqtt-client/index.ts';
import type { Device, Devices } from '../../devices/index.ts';
import type { Telemetry } from '../../telemetry/index.ts';
import {
  type LabelledRecord,
  type LabelledSamples,
  type MqttSettings,
  nothingSent,
  type Pace,
  type Sent,
  type Sink,
} from '../model.ts';
import {
  availabilityMessage,
  discoveryMessages,
  gatewayAvailabilityTopic,
  latestStates,
  type State,
  stateMessages,
} from './home-assistant.ts';
import { recordMessages } from './record-messages.ts';
import { plainMessages, type SampleMessage } from './plain-messages.ts';
import { asFailure } from './target-client.ts';

interface MqttSinkOptions {
  settings: MqttSettings;
  client: MqttClient;
  site: () => { name: string };
  devices: Pick<Devices, 'get' | 'all' | 'manifest' | 'connectivity' | 'events'>;
  telemetry: Pick<Telemetry, 'latest'>;
  /** True when a device, or an attribute of it, goes to the target. */
  includes: (device: Device, attribute?: string) => boolean;
  /** What was measured later is of a clock that was wrong. */
  currentToS: () => EpochS;
  /** Messages that wait for their acknowledgement. */
  inFlightMax: number;
  /** See `RetainedTopics`. */
  retained: RetainedTopics;
}

/**
 * Topics that the broker keeps something of, by device id: they end with the device, or with the attribute. That of the
 * gateway itself ends with the name of the site.
 */
export type RetainedTopics = Map<string, string[]>;

/** Stands in `RetainedTopics` where the ids of devices do. */
const GATEWAY = 'gateway';

/** Topic and payload with what the packet needs around them. */
const HEADER_BYTES = 8;

export class MqttSink implements Sink {
  readonly #options: MqttSinkOptions;
  readonly #unsubscribe: (() => void)[] = [];
  /** Digest of the discovery messages of a device, by its id. */
  readonly #announced = new Map<string, string>();
  /** Devices to be announced again. */
  readonly #changed = new Set<string>();
  /** States that were published, by device and attribute. */
  readonly #states = new Map<string, State>();
  /** Name of the site with which it connected. */
  #site: string | undefined;

  constructor(options: MqttSinkOptions) {
    this.#options = options;
    if (options.settings.form === 'HOME_ASSISTANT') this.#watchDevices();
  }

  get reconnects(): number {
    return this.#options.client.reconnects;
  }

  async send(samples: readonly LabelledSamples[], pace: Pace): Promise<Sent> {
    const { settings, currentToS } = this.#options;
    await this.#connected();
    if (settings.form !== 'HOME_ASSISTANT') return this.#deliver(plainMessages(settings, samples), pace);
    await this.#announceDevices();
    const sent = await this.#deliver(stateMessages(settings, samples, this.#states, currentToS()), pace);
    return { ...sent, samples: countOf(samples) - sent.refusedSamples };
  }

  /** A device may go, and the broker forget, while nothing is measured. */
  async maintain(): Promise<void> {
    if (this.#options.settings.form !== 'HOME_ASSISTANT') return;
    await this.#connected();
    await this.#announceDevices();
  }

  async sendRecords(records: readonly LabelledRecord[], pace: Pace): Promise<Sent> {
    await this.#connected();
    return this.#deliver(recordMessages(this.#options.settings, records), pace);
  }

  async #deliver(messages: Iterable<SampleMessage>, pace: Pace): Promise<Sent> {
    const sent = nothingSent();
    const before = async (message: SampleMessage): Promise<void> => {
      const bytes = Buffer.byteLength(message.topic) + Buffer.byteLength(message.payload) + HEADER_BYTES;
      await pace(bytes);
      sent.bytes += bytes;
      sent.samples += message.samples;
    };
    await this.#publish(messages, before, ({ samples }, { message }) => {
      sent.samples -= samples;
      sent.refusedSamples += samples;
      sent.refusal = message;
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
    const isHomeAssistant = settings.form === 'HOME_ASSISTANT';
    // Its name is in all topics, that of the will too.
    if (isHomeAssistant && this.#site !== undefined && this.#site !== site().name) client.close();
    const isNew = await asFailure(client.connect());
    if (!isNew || !isHomeAssistant) return;
    this.#site = site().name;
    this.#announced.clear();
    const topic = gatewayAvailabilityTopic(settings, this.#site);
    // The will of the connection before stands under the name of before.
    const ends = this.#endOfOthers(GATEWAY, [topic]);
    for (const message of [{ topic, payload: 'online', isRetained: true }, ...ends])
      await asFailure(client.publish(message));
    this.#options.retained.set(GATEWAY, [topic]);
  }

  /** @param refused called with those that are never taken, while others are */
  async #publish(
    messages: Iterable<SampleMessage>,
    before: (message: SampleMessage) => Promise<void>,
    refused: (message: SampleMessage, refusal: MqttRefusal) => void = () => undefined,
  ): Promise<void> {
    const { inFlightMax } = this.#options;
    let onTheirWay: Promise<void>[] = [];
    for (const message of messages) {
      await before(message);
      const published = this.#publishOne(message, refused);
      // It may fail while the next one waits for its turn; who waits for all of them hears of it.
      published.catch(() => undefined);
      onTheirWay.push(published);
      if (onTheirWay.length < inFlightMax) continue;
      await asFailure(Promise.all(onTheirWay));
      onTheirWay = [];
    }
    await asFailure(Promise.all(onTheirWay));
  }

  async #publishOne(
    message: SampleMessage,
    refused: (message: SampleMessage, refusal: MqttRefusal) => void,
  ): Promise<void> {
    try {
      await this.#options.client.publish(message);
    } catch (error) {
      if (!(error instanceof MqttRefusal && error.isOfMessage)) throw error;
      const parts = message.parts?.();
      if (!parts) return refused(message, error);
      for (const part of parts) await this.#publishOne(part, refused);
    }
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
      events.on('device_deleted', owner, note),
    );
  }

  /**
   * Configurations and availability of devices that are new or changed, with their states where the broker may have none, and
   * the end of what is no more.
   */
  async #announceDevices(): Promise<void> {
    const { devices, includes, retained } = this.#options;
    const messages: MqttMessage[] = [];
    const announced = new Map<string, { digest: string; topics: string[] }>();
    const states = new Map<string, State>();
    for (const device of devices.all()) {
      if ((this.#announced.has(device.id) && !this.#changed.has(device.id)) || !includes(device)) continue;
      const { all, topics } = this.#messagesOf(device);
      const digest = createHash('sha256').update(JSON.stringify(all)).digest('base64');
      const known = retained.get(device.id) ?? [];
      // A broker that has nothing of them must not wait for values that may not change for days.
      const isNew = !this.#announced.has(device.id) || topics.some((topic) => !known.includes(topic));
      announced.set(device.id, { digest, topics });
      if (this.#announced.get(device.id) !== digest) messages.push(...all);
      if (isNew) messages.push(...this.#statesOf(device, states));
    }
    const isChosen = (device: Device | undefined): boolean => device !== undefined && includes(device);
    const gone = [...retained.keys()].filter((id) => id !== GATEWAY && !isChosen(devices.get(id)));
    // They come first: another device may have the slug by now.
    const ends = [
      ...gone.flatMap((id) => this.#endOfOthers(id, [])),
      ...[...announced].flatMap(([id, { topics }]) => this.#endOfOthers(id, topics)),
    ];
    this.#changed.clear();
    await this.#publish(
      [...ends, ...messages].map((message) => ({ ...message, samples: 0 })),
      async () => undefined,
    );
    for (const id of gone) retained.delete(id);
    for (const [id, { digest, topics }] of announced) {
      this.#announced.set(id, digest);
      retained.set(id, topics);
    }
    for (const [key, state] of states) this.#states.set(key, state);
  }

  #messagesOf(device: Device): { all: MqttMessage[]; topics: string[] } {
    const { settings, devices, site, includes } = this.#options;
    const { display_name, telemetry } = devices.manifest(device);
    const chosen = Object.entries(telemetry).filter(([attribute]) => includes(device, attribute));
    const manifest = { display_name, telemetry: Object.fromEntries(chosen) };
    const found = discoveryMessages(settings, site().name, device, manifest);
    const isOnline = devices.connectivity(device.id) === 'ONLINE';
    const availability = availabilityMessage(settings, site().name, device, isOnline);
    return {
      all: [...found.map(({ message }) => message), availability],
      topics: [
        ...found.flatMap(({ message, stateTopic }) => [message.topic, stateTopic]),
        availability.topic,
      ],
    };
  }

  #statesOf(device: Device, published: Map<string, State>): MqttMessage[] {
    const { settings, devices, site, includes, telemetry } = this.#options;
    const chosen = Object.keys(devices.manifest(device).telemetry).filter((name) => includes(device, name));
    const values = chosen.flatMap((attribute) => {
      const latest = telemetry.latest(device, attribute);
      return latest ? [{ attribute, ...latest }] : [];
    });
    return [...latestStates(settings, { site: site().name, device, values }, published)];
  }

  /** A retained message without content takes away the one before. */
  #endOfOthers(key: string, topics: readonly string[]): MqttMessage[] {
    const { retained } = this.#options;
    const others = (retained.get(key) ?? []).filter((topic) => !topics.includes(topic));
    // Until the broker has it.
    retained.set(key, [...topics, ...others]);
    return others.map((topic) => ({ topic, payload: '', isRetained: true }));
  }
}

const countOf = (samples: readonly LabelledSamples[]): number =>
  samples.reduce((sum, { times }) => sum + times.length, 0);
