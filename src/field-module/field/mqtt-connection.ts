/**
 * The module's one connection to a broker for all scripts with the same credentials: opened again with growing pauses, with
 * every subscription of its clients.
 */
import { DoublingPause } from '../../lib/doubling-pause.ts';
import { messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import { topicMatches } from '../../lib/topic-matches.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import {
  type MqttArrival,
  MqttClient,
  type MqttClientOptions,
  type MqttMessage,
} from '../../platform/mqtt-client/index.ts';

/** Settings of one attempt to connect; an address may change between attempts. */
export type BrokerOptions = Pick<
  MqttClientOptions,
  | 'url'
  | 'clientId'
  | 'username'
  | 'password'
  | 'caPem'
  | 'certificatePem'
  | 'privateKeyPem'
  | 'will'
  | 'version'
  | 'trusts'
>;

/** A receiver of the messages of some filters. */
export interface MqttSubscriber {
  take(message: MqttArrival): void;
}

interface MqttConnectionOptions {
  clock: Clock;
  limits: Limits['lua']['mqtt'];
  resolve: () => Promise<BrokerOptions>;
}

/** The newest message of a topic. */
interface Latest {
  payload: Buffer;
  atMs: MonotonicMs;
}

/** One connection; clients of scripts subscribe and publish over it. */
export class MqttConnection {
  readonly #options: MqttConnectionOptions;
  readonly #subscribers = new Map<string, Set<MqttSubscriber>>();
  /** Filters that the broker did not grant, and why. */
  readonly #refused = new Map<string, string>();
  /** By topic, in the order of arrival. */
  readonly #latest = new Map<string, Latest>();
  #latestBytes = 0;
  readonly #pause: DoublingPause;
  #client: MqttClient | undefined;
  #connectedAtMs: MonotonicMs | undefined;
  /** Resolves when the attempt that is on its way has ended. */
  #attempt: Promise<void> = Promise.resolve();
  #reason = 'not connected';
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(options: MqttConnectionOptions) {
    this.#options = options;
    const { reconnectFirstMs: firstMs, reconnectMaxMs: maxMs } = options.limits;
    this.#pause = new DoublingPause({ firstMs, maxMs });
    this.#open();
  }

  get isConnected(): boolean {
    return this.#connectedAtMs !== undefined;
  }

  /** Undefined once the broker has it (at QoS 1) or it was sent; else what went wrong. */
  async publish(message: MqttMessage): Promise<string | undefined> {
    const client = await this.#connected();
    if (client === undefined) return this.#reason;
    return client.publish(message).then(() => undefined, messageOf);
  }

  /** Holds until `unsubscribe`, over all connections. What went wrong, if the broker refuses it now. */
  async subscribe(filter: string, subscriber: MqttSubscriber): Promise<string | undefined> {
    this.#subscribers.getOrInsertComputed(filter, () => new Set()).add(subscriber);
    const client = await this.#connected();
    // Subscribes even if others have the filter: the broker sends retained messages to each new subscription.
    if (client !== undefined) await this.#ask(client, filter);
    return this.#refused.get(filter);
  }

  unsubscribe(filter: string, subscriber: MqttSubscriber): void {
    const subscribers = this.#subscribers.get(filter);
    if (!subscribers?.delete(subscriber) || subscribers.size > 0) return;
    this.#subscribers.delete(filter);
    this.#refused.delete(filter);
    this.#forget(filter);
    // Without a connection there is nothing to end, and the broker forgets it with the connection.
    if (this.isConnected) this.#client?.unsubscribe(filter).catch(() => undefined);
  }

  /** The newest message of a topic without wildcards that somebody has subscribed to. */
  latest(topic: string): { payload: Buffer; ageMs: number } | string {
    const found = this.#latest.get(topic);
    if (found) return { payload: found.payload, ageMs: this.#options.clock.monotonicMs() - found.atMs };
    return this.#refused.get(topic) ?? (this.isConnected ? 'no message yet' : this.#reason);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#connectedAtMs = undefined;
    this.#timer?.cancel();
    // A broker that is gone needs no farewell.
    await this.#client?.leave().catch(() => undefined);
  }

  /** Waits for an attempt that is on its way, not for a pause. */
  async #connected(): Promise<MqttClient | undefined> {
    await this.#attempt;
    return this.isConnected ? this.#client : undefined;
  }

  #open(): void {
    if (this.#isClosed) return;
    this.#attempt = this.#connect().catch((error: unknown) => this.#lose(messageOf(error)));
  }

  async #connect(): Promise<void> {
    const { clock, limits, resolve } = this.#options;
    const options = await resolve();
    if (this.#isClosed) return;
    const client: MqttClient = new MqttClient({
      ...options,
      clock,
      timeoutMs: limits.answerMs,
      certificateAdvice: 'give its certificate as ca, or set insecure_tls',
      limits: {
        packetMaxBytes: limits.packetBytes,
        unaskedMax: limits.unaskedPackets,
        messagesAtOnce: limits.messagesAtOnce,
      },
      onMessage: async (message) => this.#receive(message),
      onLost: (reason) => {
        if (client === this.#client && this.isConnected) this.#lose(reason);
      },
    });
    this.#client = client;
    await client.connect();
    if (this.#isClosed) return client.leave();
    this.#connectedAtMs = clock.monotonicMs();
    this.#refused.clear();
    await this.#askAll([...this.#subscribers.keys()]);
  }

  async #askAll(filters: readonly string[]): Promise<void> {
    for (const filter of filters)
      if (this.#client && this.#subscribers.has(filter)) await this.#ask(this.#client, filter);
  }

  async #ask(client: MqttClient, filter: string): Promise<void> {
    try {
      await client.subscribe(filter);
      this.#refused.delete(filter);
    } catch (error) {
      this.#refused.set(filter, messageOf(error));
      this.#askAgainLater();
    }
  }

  /** Rights may be given later. */
  #askAgainLater(): void {
    if (!this.isConnected) return;
    this.#timer?.cancel();
    const { clock, limits } = this.#options;
    this.#timer = clock.setTimer(limits.refusedAgainMs, () => void this.#askAll([...this.#refused.keys()]));
  }

  #lose(reason: string): void {
    const { clock, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    const connectedMs = nowMs - (this.#connectedAtMs ?? nowMs);
    this.#reason = reason;
    this.#connectedAtMs = undefined;
    this.#client?.close();
    this.#timer?.cancel();
    if (this.#isClosed) return;
    const pauseMs = this.#pause.nextAfter(connectedMs, limits.reconnectMaxMs);
    this.#timer = clock.setTimer(pauseMs, () => this.#open());
  }

  #receive(message: MqttArrival): void {
    const takers = new Set<MqttSubscriber>();
    for (const [filter, subscribers] of this.#subscribers)
      if (topicMatches(filter, message.topic)) for (const subscriber of subscribers) takers.add(subscriber);
    if (this.#subscribers.has(message.topic)) this.#keep(message);
    for (const taker of takers) taker.take(message);
  }

  #keep({ topic, payload }: MqttArrival): void {
    const { clock, limits } = this.#options;
    this.#forget(topic);
    if (payload.length > limits.messageBytes) return;
    this.#latest.set(topic, { payload, atMs: clock.monotonicMs() });
    this.#latestBytes += payload.length;
    for (const oldest of this.#latest.keys()) {
      if (this.#latestBytes <= limits.latestBytes) return;
      this.#forget(oldest);
    }
  }

  #forget(topic: string): void {
    this.#latestBytes -= this.#latest.get(topic)?.payload.length ?? 0;
    this.#latest.delete(topic);
  }
}

// Messages of a broker on their way to a script; the oldest are dropped when it does not take them in time.

interface Delivery {
  kind: 'messages';
  messages: MqttArrival[];
  /** Dropped since the last delivery. */
  dropped: number;
}

/** Messages for one client of a script. */
export class MqttMailbox {
  readonly #limits: Limits['lua']['mqtt'];
  #messages: MqttArrival[] = [];
  #bytes = 0;
  #dropped = 0;
  #isClosed = false;
  /** Resolves the call of the script that waits for the next message. */
  #deliver: ((delivery: Delivery | undefined) => void) | undefined;

  constructor(limits: Limits['lua']['mqtt']) {
    this.#limits = limits;
  }

  take(message: MqttArrival): void {
    const { queuedMessages, queuedBytes, messageBytes } = this.#limits;
    if (message.payload.length > messageBytes) {
      this.#dropped += 1;
    } else {
      this.#messages.push(message);
      this.#bytes += message.payload.length;
      while (this.#messages.length > queuedMessages || this.#bytes > queuedBytes) {
        this.#bytes -= this.#messages.shift()?.payload.length ?? 0;
        this.#dropped += 1;
      }
    }
    this.#handOver();
  }

  /** Resolves with what is there as soon as there is something; undefined once it is closed. */
  next(): Promise<Delivery | undefined> {
    return new Promise((resolve) => {
      this.#deliver = resolve;
      if (this.#isClosed) resolve(undefined);
      else if (this.#messages.length > 0 || this.#dropped > 0) this.#handOver();
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#messages = [];
    this.#deliver?.(undefined);
  }

  #handOver(): void {
    if (!this.#deliver) return;
    this.#deliver({ kind: 'messages', messages: this.#messages, dropped: this.#dropped });
    this.#deliver = undefined;
    this.#messages = [];
    this.#bytes = 0;
    this.#dropped = 0;
  }
}
