/** SUBSCRIBE, UNSUBSCRIBE and the deliveries that follow from them, of one session. */
import type { Router, RouterClient } from './router.ts';
import type { SessionOwner, SessionRegistry } from './sessions.ts';
import type { MqttHooks, MqttLimits, MqttSession } from './types.ts';
import { type Subscribe, suback, type Unsubscribe, unsuback } from './packets.ts';
import { deliveryQos } from './sessions.ts';
import { levelCount } from './topic.ts';

export interface SubscriptionsContext<Owner extends SessionOwner> {
  readonly limits: MqttLimits;
  readonly hooks: Pick<MqttHooks, 'maySubscribe' | 'onRefused'>;
  readonly registry: SessionRegistry<Owner>;
  readonly router: Router;
}

/** What the subscriptions of one session need from its connection. */
export interface SubscriptionsPort {
  readonly session: MqttSession;
  /** False while nothing may be delivered. */
  isOpen(): boolean;
  write(chunks: readonly Buffer[]): void;
  close(reason: string): void;
}

export class Subscriptions<Owner extends SessionOwner> {
  readonly #context: SubscriptionsContext<Owner>;
  readonly #owner: Owner;
  readonly #port: SubscriptionsPort;
  #client: RouterClient | undefined;
  #isDetached = false;
  #unacknowledged = 0;

  constructor(context: SubscriptionsContext<Owner>, owner: Owner, port: SubscriptionsPort) {
    this.#context = context;
    this.#owner = owner;
    this.#port = port;
  }

  /** Makes the client of the broker library and gives it the subscriptions of a kept session. */
  async attach(): Promise<void> {
    const client = await this.#context.router.attach({
      id: this.#port.session.id,
      write: (chunks) => this.#port.write(chunks),
      deliveryQos: (topic) => this.#deliveryQos(topic),
      lost: () => this.#port.close('lost'),
    });
    if (this.#isDetached) return client.detach();
    this.#client = client;
    await this.#restore(client);
  }

  /** Resolves with the answer. Changes take effect at once, before the promise resolves. */
  async subscribe({ packetId, requests }: Subscribe): Promise<Buffer> {
    const { registry } = this.#context;
    const added = new Set<string>();
    let denied: string | undefined;
    const granted = requests.map(({ filter, qos }) => {
      const isNew = !this.#owner.state.subscriptions.has(filter);
      const refusal = this.#refusalOf(filter, isNew);
      if (refusal === 'denied') denied ??= filter;
      if (refusal) return 'refused';
      if (isNew) added.add(filter);
      registry.addSubscription(this.#owner, filter, qos);
      return qos;
    });
    if (denied !== undefined) this.#tellDenied(denied);
    if (added.size > 0) await this.#client?.subscribe([...added]);
    return suback(packetId, granted);
  }

  async unsubscribe({ packetId, filters }: Unsubscribe): Promise<Buffer> {
    const { subscriptions } = this.#owner.state;
    const removed = new Set(filters.filter((filter) => subscriptions.has(filter)));
    for (const filter of removed) this.#context.registry.removeSubscription(this.#owner, filter);
    if (removed.size > 0) await this.#client?.unsubscribe([...removed]);
    return unsuback(packetId);
  }

  /** A PUBACK arrived. */
  delivered(): void {
    this.#unacknowledged = Math.max(0, this.#unacknowledged - 1);
  }

  /** May be called before `attach` has ended. */
  detach(): void {
    this.#isDetached = true;
    this.#client?.detach();
  }

  #deliveryQos(topic: string): 0 | 1 | undefined {
    if (!this.#port.isOpen()) return undefined;
    const qos = deliveryQos(this.#owner.state.subscriptions, topic);
    if (qos !== 1) return qos;
    this.#unacknowledged++;
    if (this.#unacknowledged <= this.#context.limits.unacknowledgedDeliveries) return 1;
    this.#port.close('unacknowledged_deliveries');
    return undefined;
  }

  /** Permissions may have changed while the session was away. */
  async #restore(client: RouterClient): Promise<void> {
    const { subscriptions } = this.#owner.state;
    const kept = [...subscriptions];
    subscriptions.clear();
    const granted = kept.filter(([filter]) => this.#refusalOf(filter, true) === undefined);
    for (const [filter, qos] of granted) this.#context.registry.addSubscription(this.#owner, filter, qos);
    if (granted.length > 0) await client.subscribe(granted.map(([filter]) => filter));
  }

  #refusalOf(filter: string, isNew: boolean): 'limit' | 'denied' | undefined {
    const { limits, hooks } = this.#context;
    if (isNew && this.#owner.state.subscriptions.size >= limits.subscriptionsPerSession) return 'limit';
    if (Buffer.byteLength(filter) > limits.topicBytes || levelCount(filter) > limits.topicLevels)
      return 'limit';
    // `$SYS` and its like are not readable, whatever the hook says.
    const isReadable = !filter.startsWith('$') && hooks.maySubscribe(this.#port.session.identity, filter);
    return isReadable ? undefined : 'denied';
  }

  #tellDenied(topic: string): void {
    const { identity, remoteAddress } = this.#port.session;
    this.#context.hooks.onRefused?.({ what: 'subscribe', claimed: identity.key, topic, remoteAddress });
  }
}
