/** SUBSCRIBE, UNSUBSCRIBE and the deliveries that follow from them, of one session. */
import type { Router, RouterClient, RouterPort } from './router.ts';
import type { MqttHooks, MqttLimits, MqttSession } from './types.ts';
import { levelCount, suback, type Subscribe } from './packets.ts';

interface SubscriptionsContext {
  readonly limits: MqttLimits;
  readonly hooks: Pick<MqttHooks, 'maySubscribe' | 'onSubscribed' | 'onRefused'>;
  readonly router: Router;
}

/** Parts of a connection that the subscriptions of its session need. */
interface SubscriptionsPort extends Pick<RouterPort, 'state' | 'accepted' | 'isOpen' | 'write'> {
  readonly session: MqttSession;
  /** A delivery follows. */
  onDelivery(): void;
  close(reason: string): void;
}

export class Subscriptions {
  readonly #context: SubscriptionsContext;
  readonly #port: SubscriptionsPort;
  readonly client: RouterClient;
  /** Filters that were granted and not reported. */
  readonly #granted: string[] = [];

  /** Subscriptions of a kept session whose permission has ended meanwhile end too. */
  constructor(context: SubscriptionsContext, port: SubscriptionsPort) {
    this.#context = context;
    this.#port = port;
    const { session, state } = port;
    for (const filter of state.subscriptions.keys())
      if (this.#refusalOf(filter, false) !== undefined) state.subscriptions.delete(filter);
    this.client = context.router.attach({
      ...port,
      id: session.id,
      mayDeliver: () => this.#mayDeliver(),
      lost: () => port.close('lost'),
    });
  }

  /** Resolves with the answer: one code for each filter asked for ([MQTT-3.8.4-5]). */
  async subscribe({ packetId, requests }: Subscribe): Promise<Buffer> {
    const { subscriptions } = this.#port.state;
    const granted = new Map<string, 0 | 1 | 2>();
    let added = 0;
    let denied: string | undefined;
    const codes = requests.map(({ filter, qos }) => {
      const isNew = !subscriptions.has(filter) && !granted.has(filter);
      const isFull = isNew && subscriptions.size + added >= this.#context.limits.subscriptionsPerSession;
      const refusal = this.#refusalOf(filter, isFull);
      if (refusal === 'denied') denied ??= filter;
      if (refusal) return 'refused';
      if (isNew) added++;
      granted.set(filter, qos);
      return qos;
    });
    if (denied !== undefined) this.#reportDenied(denied);
    if (granted.size > 0) await this.client.subscribe(granted);
    this.#granted.push(...granted.keys());
    return suback(packetId, codes);
  }

  /** Reports what was granted since the last time. */
  announce(): void {
    const granted = this.#granted.splice(0);
    if (granted.length > 0) this.#context.hooks.onSubscribed?.(this.#port.session, granted);
  }

  #mayDeliver(): boolean {
    const { state } = this.#port;
    const { unacknowledgedDeliveries, unacknowledgedBytes } = this.#context.limits;
    if (!this.#port.isOpen()) return false;
    if (state.outgoing.length <= unacknowledgedDeliveries && state.outgoingBytes <= unacknowledgedBytes) {
      this.#port.onDelivery();
      return true;
    }
    // Deliveries that it does not take are not kept for its return either.
    state.outgoing.length = 0;
    state.outgoingBytes = 0;
    this.#port.close('unacknowledged_deliveries');
    return false;
  }

  #refusalOf(filter: string, isFull: boolean): 'limit' | 'denied' | undefined {
    const { limits, hooks } = this.#context;
    if (isFull || Buffer.byteLength(filter) > limits.topicBytes || levelCount(filter) > limits.topicLevels)
      return 'limit';
    // `$SYS` and its like are not readable, whatever the hook says.
    const isReadable = !filter.startsWith('$') && hooks.maySubscribe(this.#port.session.identity, filter);
    return isReadable ? undefined : 'denied';
  }

  #reportDenied(topic: string): void {
    const { identity, remoteAddress } = this.#port.session;
    this.#context.hooks.onRefused?.({ what: 'subscribe', claimed: identity.key, topic, remoteAddress });
  }
}
