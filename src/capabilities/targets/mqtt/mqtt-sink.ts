/** A broker as a target: messages at QoS 1, a bounded number of them in flight, acknowledged or sent again. */
import { createHash } from 'node:crypto';
import type { EpochS } from '../../../lib/time.ts';
import { type MqttClient, type MqttMessage, MqttRefusal } from '../../../platform/mqtt-client/index.ts';
import type { Device } from '../../devices/index.ts';
import {
  type LabelledRecord,
  type LabelledSamples,
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
import { plainMessages, recordMessages, type SampleMessage } from './plain-messages.ts';
import { asFailure, type MqttSinkParts, sizeOf } from './target-client.ts';

interface MqttSinkOptions extends MqttSinkParts {
  client: MqttClient;
  /** Later samples come from a clock that was wrong. */
  currentToS: () => EpochS;
  /** Messages that wait for their acknowledgement. */
  inFlightMax: number;
  /** See `RetainedTopics`. */
  retained: RetainedTopics;
}

/**
 * Topics with retained messages, by device id, for their removal with the device or the attribute. That of the gateway itself
 * is removed when the site is renamed.
 */
export type RetainedTopics = Map<string, string[]>;

/** Key of the gateway's own topic in `RetainedTopics`. */
const GATEWAY = 'gateway';

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

  /** Devices may be deleted, and the broker may restart, while nothing is measured. */
  async maintain(): Promise<void> {
    if (this.#options.settings.form !== 'HOME_ASSISTANT') return;
    await this.#connected();
    await this.#announceDevices();
  }

  async sendRecords(records: readonly LabelledRecord[], pace: Pace): Promise<Sent> {
    await this.#connected();
    return this.#deliver(recordMessages(this.#options.settings, records), pace);
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
    // The name of the site is in all topics, that of the will too.
    if (isHomeAssistant && this.#site !== undefined && this.#site !== site().name) client.close();
    const isNew = await asFailure(client.connect());
    if (!isNew || !isHomeAssistant) return;
    this.#site = site().name;
    this.#announced.clear();
    const topic = gatewayAvailabilityTopic(settings, this.#site);
    // The will of the earlier connection is retained under the earlier name.
    const ends = this.#endOfOthers(GATEWAY, [topic]);
    for (const message of [{ topic, payload: 'online', isRetained: true }, ...ends])
      await asFailure(client.publish(message));
    this.#options.retained.set(GATEWAY, [topic]);
  }

  async #deliver(messages: Iterable<SampleMessage>, pace: Pace): Promise<Sent> {
    const { inFlightMax } = this.#options;
    const sent = nothingSent();
    let onTheirWay: Promise<void>[] = [];
    for (const message of messages) {
      const bytes = sizeOf(message);
      await pace(bytes);
      sent.bytes += bytes;
      sent.samples += message.samples;
      const published = this.#publish(message, sent);
      // It may fail while the next one is paced; `Promise.all` reports it.
      published.catch(() => undefined);
      onTheirWay.push(published);
      if (onTheirWay.length < inFlightMax) continue;
      await asFailure(Promise.all(onTheirWay));
      onTheirWay = [];
    }
    await asFailure(Promise.all(onTheirWay));
    return sent;
  }

  /** A message that is never taken while others are counts as refused. */
  async #publish(message: SampleMessage, sent: Sent): Promise<void> {
    try {
      await this.#options.client.publish(message);
    } catch (error) {
      if (!(error instanceof MqttRefusal && error.isOfMessage)) throw error;
      const parts = message.parts?.();
      for (const part of parts ?? []) await this.#publish(part, sent);
      if (parts) return;
      sent.samples -= message.samples;
      sent.refusedSamples += message.samples;
      sent.refusal = error.message;
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
   * Publishes configuration and availability of new and changed devices, their states where the broker may have none, and
   * removes what is no more.
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
      // Values may not change for days, so a broker that may have none of them gets them now.
      const isNew = !this.#announced.has(device.id) || topics.some((topic) => !known.includes(topic));
      announced.set(device.id, { digest, topics });
      if (this.#announced.get(device.id) !== digest) messages.push(...all);
      if (isNew) messages.push(...this.#statesOf(device, states));
    }
    const isChosen = (device: Device | undefined): boolean => device !== undefined && includes(device);
    const gone = [...retained.keys()].filter((id) => id !== GATEWAY && !isChosen(devices.get(id)));
    // Removals come first, because another device may have the slug by now.
    const ends = [
      ...gone.flatMap((id) => this.#endOfOthers(id, [])),
      ...[...announced].flatMap(([id, { topics }]) => this.#endOfOthers(id, topics)),
    ];
    this.#changed.clear();
    const all = [...ends, ...messages].map((message) => ({ ...message, samples: 0 }));
    await this.#deliver(all, async () => undefined);
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

  /** Removals of all other topics under this key: an empty retained message deletes the earlier one. */
  #endOfOthers(key: string, topics: readonly string[]): MqttMessage[] {
    const { retained } = this.#options;
    const others = (retained.get(key) ?? []).filter((topic) => !topics.includes(topic));
    // They stay listed until the broker has acknowledged the removal.
    retained.set(key, [...topics, ...others]);
    return others.map((topic) => ({ topic, payload: '', isRetained: true }));
  }
}

const countOf = (samples: readonly LabelledSamples[]): number =>
  samples.reduce((sum, { times }) => sum + times.length, 0);
