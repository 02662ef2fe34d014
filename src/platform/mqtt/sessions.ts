/**
 * The sessions now connected and what is remembered of those with CleanSession 0 while they are away:
 * their subscriptions, deliveries not yet acknowledged and QoS 2 messages not yet released. What is published while
 * they are away is not kept for them. A client id names a session within its identity only.
 */
import type { AedesPublishPacket } from 'aedes';
import type { MonotonicMs } from '../../lib/time.ts';
import { TokenBucket } from '../../lib/token-bucket.ts';
import type { Clock } from '../clock/index.ts';
import type { Share } from './turn-scheduler.ts';
import type { MqttIdentity, MqttLimits } from './types.ts';

/** Session state in the sense of MQTT 3.1.1 section 3.1.2.4; outlives the connection when kept. */
export interface SessionState {
  /** Granted filters and their QoS. */
  readonly subscriptions: Map<string, 0 | 1 | 2>;
  /** Deliveries without their PUBACK, oldest first. */
  readonly outgoing: OutgoingDelivery[];
  /** Bytes of their payloads. */
  outgoingBytes: number;
  /** QoS 1 messages without their PUBACK. */
  readonly awaited: AwaitedMessages;
  /** QoS 2 messages by packet identifier, from PUBLISH to PUBREL ([MQTT-4.3.3-2]). */
  readonly received: Map<number, ReceivedMessage>;
}

/** `messageId` is there once it was sent. */
export type OutgoingDelivery = AedesPublishPacket;

export interface ReceivedMessage {
  /** Digest of topic and payload. */
  readonly digest: string;
  /** False while the handler has not taken it; PUBREC waits for that. */
  isStored: boolean;
  /** The connection that asked last for PUBREC. */
  answering: Answering;
}

/** Parts of a connection that the registry needs. */
export interface SessionOwner {
  /** Monotonic time of its last packet. */
  readonly lastPacketMs: MonotonicMs;
  takeOver(): void;
  /** There is no room for another session of its identity beside it. */
  giveWay(): void;
}

/** Use of an identity, whatever became of its connections. */
export interface IdentityRecord {
  readonly bucket: TokenBucket;
  readonly share: Share;
  /** Monotonic time of its last message that is to be acknowledged. */
  lastMessageMs: MonotonicMs;
}

interface IdentitySessions<Owner extends SessionOwner> extends IdentityRecord {
  readonly identity: MqttIdentity;
  readonly connected: Set<Owner>;
  /** Connected owner by client id. */
  readonly byClientId: Map<string, Owner>;
  /** State of sessions with CleanSession 0, connected or away, oldest first. */
  readonly kept: Map<string, SessionState>;
}

type AdmitResult = { state: SessionState; isPresent: boolean } | 'sessions';

export class SessionRegistry<Owner extends SessionOwner> {
  readonly #clock: Clock;
  readonly #limits: MqttLimits;
  readonly #identities = new Map<string, IdentitySessions<Owner>>();
  readonly #owners = new Set<Owner>();

  constructor(clock: Clock, limits: MqttLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  get size(): number {
    return this.#owners.size;
  }

  /** Payload bytes that one session may have in flight; with many sessions, its share of the total. */
  get windowBytes(): number {
    const { inFlightBytes, inFlightBytesInAll } = this.#limits;
    return Math.min(inFlightBytes, inFlightBytesInAll / this.size);
  }

  owners(identityKey?: string): Owner[] {
    if (identityKey === undefined) return [...this.#owners];
    return [...(this.#identities.get(identityKey)?.connected ?? [])];
  }

  count(identityKey?: string): number {
    if (identityKey === undefined) return this.#owners.size;
    return this.#identities.get(identityKey)?.connected.size ?? 0;
  }

  /** The record of an identity, made on first use. */
  of(identity: MqttIdentity): IdentitySessions<Owner> {
    const known = this.#identities.get(identity.key);
    if (known) return known;
    if (this.#identities.size >= this.#limits.sessions) this.#forgetIdle();
    const made: IdentitySessions<Owner> = {
      identity,
      bucket: new TokenBucket(
        this.#limits.messagesPerSecond,
        this.#limits.messageBurst,
        this.#clock.monotonicMs(),
      ),
      share: { turnMs: 0 },
      lastMessageMs: Number.NEGATIVE_INFINITY,
      connected: new Set(),
      byClientId: new Map(),
      kept: new Map(),
    };
    this.#identities.set(identity.key, made);
    return made;
  }

  /**
   * Finds room and state for a new session. An earlier connection with the same client id and identity is
   * taken over first ([MQTT-3.1.4-2]) and so does not count. A device that lost its power has sessions here that
   * nobody ends; so the one of its identity that was silent the longest gives way to the new one.
   */
  admit(identity: MqttIdentity, clientId: string, cleanSession: boolean): AdmitResult {
    const mine = this.of(identity);
    mine.byClientId.get(clientId)?.takeOver();
    if (mine.connected.size >= this.#limits.sessionsPerIdentity) longestSilent(mine.connected)?.giveWay();
    if (this.#owners.size >= this.#limits.sessions) return 'sessions';
    const old = mine.kept.get(clientId);
    mine.kept.delete(clientId);
    // [MQTT-3.1.2-6]: a clean session starts from nothing and discards what was kept.
    const state = cleanSession || !old ? newState() : old;
    if (!cleanSession) this.#keep(mine, clientId, state);
    return { state, isPresent: state === old };
  }

  enter(identity: MqttIdentity, clientId: string, owner: Owner): void {
    const mine = this.of(identity);
    mine.connected.add(owner);
    mine.byClientId.set(clientId, owner);
    this.#owners.add(owner);
  }

  leave(identity: MqttIdentity, clientId: string, owner: Owner): void {
    if (!this.#owners.delete(owner)) return;
    const mine = this.of(identity);
    mine.connected.delete(owner);
    if (mine.byClientId.get(clientId) === owner) mine.byClientId.delete(clientId);
  }

  /** Forgets kept sessions of an identity whose credentials are void. */
  forgetKept(identityKey: string): void {
    this.#identities.get(identityKey)?.kept.clear();
  }

  #keep(mine: IdentitySessions<Owner>, clientId: string, state: SessionState): void {
    mine.kept.set(clientId, state);
    if (mine.kept.size <= this.#limits.keptSessionsPerIdentity) return;
    for (const id of mine.kept.keys()) {
      if (mine.byClientId.has(id) || id === clientId) continue;
      mine.kept.delete(id);
      return;
    }
  }

  /** Drops records that would be made again just the same. */
  #forgetIdle(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, mine] of this.#identities)
      if (mine.connected.size === 0 && mine.kept.size === 0 && mine.bucket.isFull(nowMs))
        this.#identities.delete(key);
  }
}

function longestSilent<Owner extends SessionOwner>(owners: Iterable<Owner>): Owner | undefined {
  let found: Owner | undefined;
  for (const owner of owners) if (!found || owner.lastPacketMs < found.lastPacketMs) found = owner;
  return found;
}

function newState(): SessionState {
  return {
    subscriptions: new Map(),
    outgoing: [],
    outgoingBytes: 0,
    awaited: new AwaitedMessages(),
    received: new Map(),
  };
}

// Messages at QoS 1 of one session that are not acknowledged yet. When the connection ends before, a client that kept
// its session sends them again under the same identifiers, marked as duplicates ([MQTT-4.4.0-1]): such a
// duplicate is acknowledged with the first and not taken twice. A message is forgotten once its acknowledgement was
// written: nobody knows whether the client got it, and the client may give the identifier to another message.

/** The connection that asked last. */
export interface Answering {
  /** Sends PUBACK. False: the connection has ended. */
  answer(packetId: number): boolean;
  /** The message was not taken: the client has to send it again. */
  refuse(): void;
}

/** One of them. */
export interface AwaitedMessage {
  readonly topic: string;
  payload: Buffer;
  isStored: boolean;
  answering: Answering;
}

class AwaitedMessages {
  /** In the order of their arrival. */
  readonly #messages = new Map<number, AwaitedMessage>();
  #bytes = 0;

  /** Takes note of one that is handed over; beyond the bounds the oldest are forgotten. */
  add(packetId: number, message: AwaitedMessage, most: { messages: number; bytes: number }): void {
    this.#forget(packetId);
    this.#messages.set(packetId, message);
    this.#bytes += message.payload.length;
    for (const oldest of this.#messages.keys()) {
      if (this.#messages.size <= most.messages && this.#bytes <= most.bytes) return;
      this.#forget(oldest);
    }
  }

  /** Whether a duplicate is of one that is here; it is answered when that may be. */
  isRepeated(packetId: number, topic: string, payload: Buffer, answering: Answering): boolean {
    const known = this.#messages.get(packetId);
    if (known === undefined || known.topic !== topic || !known.payload.equals(payload)) return false;
    known.answering = answering;
    if (known.isStored) this.stored(packetId, known);
    return true;
  }

  stored(packetId: number, message: AwaitedMessage): void {
    message.isStored = true;
    const isAnswered = message.answering.answer(packetId);
    // Another one may have its identifier by now.
    if (this.#messages.get(packetId) !== message) return;
    if (isAnswered) this.#forget(packetId);
    // A copy without the buffer that it arrived in, since it may stay for long.
    else message.payload = Buffer.from(message.payload);
  }

  refused(packetId: number, message: AwaitedMessage): void {
    if (this.#messages.get(packetId) === message) this.#forget(packetId);
    message.answering.refuse();
  }

  #forget(packetId: number): void {
    this.#bytes -= this.#messages.get(packetId)?.payload.length ?? 0;
    this.#messages.delete(packetId);
  }
}
