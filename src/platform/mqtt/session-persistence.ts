/**
 * The state of sessions as Aedes asks for it, in its persistence interface: filters with the QoS that was granted, and
 * deliveries whose acknowledgement is not here yet, which go out again when the session returns ([MQTT-4.4.0-1]).
 * Nothing is queued for sessions that are away; wills and what clients publish are the guard's.
 */
import { Readable } from 'node:stream';
import type { AedesPublishPacket, Subscription } from 'aedes';
import type { OutgoingDelivery, SessionState } from './sessions.ts';
import type { RetainedMessages } from './retained-messages.ts';
import { topicMatches } from '../../lib/topic-matches.ts';

type ClientId = { id: string };
type DeliveryId = Pick<AedesPublishPacket, 'brokerCounter' | 'messageId'>;

/** Aedes gets QoS 1 for every filter: of overlapping filters it would take the QoS of the first ([MQTT-3.3.5-1]). */
export interface GrantedSubscription extends Subscription {
  qos: 1;
  granted: 0 | 1 | 2;
}

const PACKET_ID_MAX = 65_535;

/** A connected session. */
interface Connected {
  readonly state: SessionState;
  /** Messages that wait for a PUBACK are sent first; newer publications are queued behind them. */
  isReturning: boolean;
  /** The last publication that was put there, as Aedes counts them. */
  queuedTo: number;
  /** Called when the delivery read last is about to be written, or never will be. */
  onTaken: (() => void) | undefined;
}

export class SessionPersistence {
  /** By the id that Aedes knows them by. */
  readonly #sessions = new Map<string, Connected>();
  readonly #retained: RetainedMessages;

  constructor(retained: RetainedMessages) {
    this.#retained = retained;
  }

  open(id: string, state: SessionState): void {
    this.#sessions.set(id, { state, isReturning: true, queuedTo: 0, onTaken: undefined });
  }

  close(id: string): void {
    this.#sessions.get(id)?.onTaken?.();
    this.#sessions.delete(id);
  }

  /** Whether this publication is queued behind messages that wait in the session, and so not sent at once. */
  isQueued(id: string, { brokerCounter }: DeliveryId): boolean {
    return brokerCounter <= (this.#sessions.get(id)?.queuedTo ?? 0);
  }

  /** Takes the acknowledgement of a delivery; one that is not expected is ignored. */
  acknowledged(id: string, packetId: number): void {
    this.#take(id, (delivery) => delivery.messageId === packetId);
  }

  /** Whether a delivery with this packet identifier waits for PUBACK. */
  isAwaited(id: string, packetId: number): boolean {
    return this.#stateOf(id)?.outgoing.some(({ messageId }) => messageId === packetId) ?? false;
  }

  // Hooks that Aedes calls

  async setup(): Promise<void> {}

  async addSubscriptions({ id }: ClientId, subscriptions: readonly GrantedSubscription[]): Promise<void> {
    const state = this.#stateOf(id);
    for (const { topic, granted } of subscriptions) state?.subscriptions.set(topic, granted);
  }

  async removeSubscriptions({ id }: ClientId, filters: readonly string[]): Promise<void> {
    for (const filter of filters) this.#stateOf(id)?.subscriptions.delete(filter);
  }

  async subscriptionsByClient({ id }: ClientId): Promise<GrantedSubscription[]> {
    const subscriptions = this.#stateOf(id)?.subscriptions ?? [];
    return Array.from(subscriptions, ([topic, granted]) => ({ topic, qos: 1, granted }));
  }

  /** Sessions that acknowledge what they get of this topic. */
  async subscriptionsByTopic(topic: string): Promise<{ clientId: string }[]> {
    return [...this.#sessions]
      .filter(([, { state }]) => deliveryQos(state, topic) === 1)
      .map(([clientId]) => ({ clientId }));
  }

  async cleanSubscriptions(): Promise<void> {}

  async outgoingEnqueueCombi(
    sessions: readonly { clientId: string }[],
    packet: AedesPublishPacket,
  ): Promise<void> {
    for (const { clientId } of sessions) {
      const session = this.#sessions.get(clientId);
      if (!session) continue;
      session.state.outgoing.push({ ...packet, messageId: undefined });
      session.state.outgoingBytes += packet.payload.length;
      if (session.isReturning) session.queuedTo = packet.brokerCounter;
    }
  }

  /** Aedes is about to write this packet. One that is written again is marked ([MQTT-3.3.1-1]). */
  async outgoingUpdate({ id }: ClientId, packet: AedesPublishPacket): Promise<void> {
    const session = this.#sessions.get(id);
    const outgoing = session?.state.outgoing ?? [];
    session?.onTaken?.();
    const delivery = outgoing.find(({ brokerCounter }) => brokerCounter === packet.brokerCounter);
    // A delivery at QoS 0 is not kept.
    if (!delivery) return;
    packet.dup = delivery.messageId !== undefined;
    if (delivery.messageId === undefined) packet.messageId = freeId(outgoing, packet.messageId ?? 1);
    delivery.messageId = packet.messageId;
  }

  async outgoingClearMessageId({ id }: ClientId, packet: DeliveryId): Promise<OutgoingDelivery | undefined> {
    // Queued behind waiting messages instead of being delivered at once.
    if (packet.messageId === undefined && this.isQueued(id, packet)) return undefined;
    return this.#take(id, ({ messageId, brokerCounter }) =>
      packet.messageId === undefined
        ? brokerCounter === packet.brokerCounter
        : messageId === packet.messageId,
    );
  }

  outgoingStream({ id }: ClientId): Readable {
    const session = this.#sessions.get(id);
    return Readable.from(session ? returning(session) : []);
  }

  /** For a new subscription. At QoS 0: one that is lost with the connection comes with the next subscription. */
  createRetainedStreamCombi(filters: readonly string[]): Readable {
    return Readable.from(
      this.#retained.matching(filters).map((message) => ({ cmd: 'publish', qos: 0, ...message })),
    );
  }

  async delWill(): Promise<void> {}

  /** Asked for every four heartbeats, however rare these are: wills of other brokers that went away. */
  streamWill(): Readable {
    return Readable.from([]);
  }

  #stateOf(id: string): SessionState | undefined {
    return this.#sessions.get(id)?.state;
  }

  #take(id: string, isIt: (delivery: OutgoingDelivery) => boolean): OutgoingDelivery | undefined {
    const state = this.#stateOf(id);
    const index = state?.outgoing.findIndex(isIt) ?? -1;
    if (!state || index < 0) return undefined;
    const [delivery] = state.outgoing.splice(index, 1);
    state.outgoingBytes -= delivery?.payload.length ?? 0;
    return delivery;
  }
}

/** One after the other, so that nothing is published at once before all of them are on their way. */
async function* returning(session: Connected): AsyncGenerator<OutgoingDelivery> {
  let readTo = 0;
  for (;;) {
    const next = session.state.outgoing.find(({ brokerCounter }) => brokerCounter > readTo);
    if (!next) break;
    readTo = next.brokerCounter;
    const taken = new Promise<void>((resolve) => (session.onTaken = resolve));
    yield next;
    await taken;
  }
  session.isReturning = false;
}

/** QoS of the delivery to one session: the highest of its matching subscriptions ([MQTT-3.3.5-1]), 1 at most. */
export function deliveryQos({ subscriptions }: SessionState, topic: string): 0 | 1 | undefined {
  let highest: 0 | 1 | undefined;
  for (const [filter, qos] of subscriptions) {
    if (!topicMatches(filter, topic)) continue;
    if (qos > 0) return 1;
    highest = 0;
  }
  return highest;
}

/** Packet identifiers of deliveries that are not acknowledged stay theirs ([MQTT-2.3.1-4]). */
function freeId(outgoing: readonly OutgoingDelivery[], wanted: number): number {
  let id = wanted;
  while (outgoing.some(({ messageId }) => messageId === id)) id = (id % PACKET_ID_MAX) + 1;
  return id;
}
