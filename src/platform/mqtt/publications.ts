/**
 * What a client publishes: checks, rate, hand-over and acknowledgement. A message is acknowledged when the
 * handler's promise has resolved and not before; meanwhile the connection is read on, up to a window.
 *
 * Over the rate of its identity a QoS 0 message is dropped, which MQTT allows. A QoS 1 or 2 message is
 * never dropped: acknowledged it would be lost, unacknowledged the client would wait for ever. It is taken,
 * and the connection is not read until the rate is kept again, so that TCP slows the sender down. The rate counts
 * work: who sends larger messages, or such that cost more time, may send fewer of them.
 */
import { createHash } from 'node:crypto';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { BrokerMetrics } from './broker-metrics.ts';
import type { Channel } from './channel.ts';
import { HOLD, type Inbound } from './inbound.ts';
import {
  EMPTY_TOPIC,
  nonAsciiProblem,
  PACKET,
  textProblem,
  violation,
  type Violation,
  WILDCARD_IN_NAME,
} from './packets.ts';
import type { Answering, AwaitedMessage, IdentityRecord, ReceivedMessage, SessionState } from './sessions.ts';
import type { MqttHooks, MqttLimits, MqttMessage, MqttSession } from './types.ts';

const TRUNCATED = violation('MQTT-4.8.0-1', 'PUBLISH ends within a field');
const NO_PACKET_ID = violation('MQTT-2.3.1-1', 'packet identifier is 0');
const EARLY_RELEASE = violation('MQTT-4.3.3-1', 'PUBREL before PUBREC');

const WARNING_INTERVAL_MS = 60_000;
const TOO_FAST = {
  dropped: 'messages come too fast, QoS 0 messages are dropped',
  slowed_down: 'messages come too fast, the connection is slowed down',
};

/** Parts of a connection that its messages need. */
export interface PublicationsPort {
  readonly channel: Pick<Channel, 'acknowledge'>;
  readonly inbound: Pick<Inbound, 'hold' | 'release' | 'holdRate'>;
  violate(problem: Violation): void;
  close(reason: string): void;
  /** Resolves when nothing is pending any more. */
  idle(): void;
}

export interface PublicationsContext {
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: MqttLimits;
  readonly metrics: BrokerMetrics;
  readonly isOneOfFew: IsOneOfFew;
  readonly registry: { readonly windowBytes: number };
  readonly hooks: Pick<MqttHooks, 'mayPublish' | 'onMessage' | 'onAwaited' | 'onTooFast' | 'onRefused'>;
}

/** Handed over, and not settled yet. */
interface Waiting {
  readonly message: MqttMessage;
  readonly packetId: number;
  /** At QoS 2. */
  readonly entry: ReceivedMessage | undefined;
  /** At QoS 1. */
  awaited: AwaitedMessage | undefined;
}

export class Publications {
  readonly #context: PublicationsContext;
  readonly #port: PublicationsPort;
  readonly #session: MqttSession;
  readonly #state: SessionState;
  readonly #identity: IdentityRecord;
  /** By QoS. */
  readonly #answering: Record<1 | 2, Answering>;
  /** Bytes and text of the last topic; devices repeat themselves. */
  #topicBytes: Buffer = Buffer.alloc(0);
  #topic = '';
  #pendingMessages = 0;
  /** The messages handed over last, which wait for the same promise. */
  #last: { taken: Promise<void>; messages: Waiting[] } | undefined;
  #acknowledgedMs: MonotonicMs = Number.NEGATIVE_INFINITY;
  /** Messages in a row that came soon after the acknowledgement of the one before. */
  #awaitedInRow = 0;
  /** So many in a row are no coincidence. */
  #awaitedNeeded: number;
  #pendingBytes = 0;
  #isWindowHeld = false;
  /** Messages taken since last asked; counting them one by one would cost more than taking them. */
  #taken = 0;

  constructor(
    context: PublicationsContext,
    port: PublicationsPort,
    session: MqttSession,
    state: SessionState,
    identity: IdentityRecord,
  ) {
    this.#context = context;
    this.#port = port;
    this.#session = session;
    this.#state = state;
    this.#identity = identity;
    this.#awaitedNeeded = context.limits.awaitedInRow;
    const refuse = (): void => port.close('not_taken');
    this.#answering = {
      1: { answer: (packetId) => port.channel.acknowledge(PACKET.puback, packetId), refuse },
      2: { answer: (packetId) => port.channel.acknowledge(PACKET.pubrec, packetId), refuse },
    };
  }

  /** Messages handed over whose promise is pending. */
  get pending(): number {
    return this.#pendingMessages;
  }

  takeCount(): number {
    const taken = this.#taken;
    this.#taken = 0;
    return taken;
  }

  /** One PUBLISH packet whose fixed header is fine. */
  receive(
    firstByte: number,
    buffer: Buffer,
    start: number,
    end: number,
    nowMs: MonotonicMs,
    wallMs: EpochMs,
  ): void {
    const { limits } = this.#context;
    const qos = ((firstByte >> 1) & 3) as 0 | 1 | 2;
    if (end - start < 2) return this.#port.violate(TRUNCATED);
    const topicEnd = start + 2 + buffer.readUInt16BE(start);
    const payloadStart = topicEnd + (qos > 0 ? 2 : 0);
    if (payloadStart > end) return this.#port.violate(TRUNCATED);
    const topic = this.#readTopic(buffer, start + 2, topicEnd);
    if (topic === undefined) return;
    const packetId = qos > 0 ? buffer.readUInt16BE(topicEnd) : 0;
    if (qos > 0 && packetId === 0) return this.#port.violate(NO_PACKET_ID);
    if (end - payloadStart > limits.payloadBytes) return this.#port.close('payload_too_large');
    const payload = buffer.subarray(payloadStart, end);
    const duplicate = (firstByte & 0x08) !== 0;
    const digest = qos === 2 ? digestOf(buffer.subarray(start, topicEnd), payload) : '';
    if (qos === 2 && this.#isRepeated(packetId, digest, duplicate)) return;
    if (
      qos === 1 &&
      duplicate &&
      this.#state.awaited.isRepeated(packetId, topic, payload, this.#answering[1])
    )
      return;
    if (!this.#keepRate(qos, nowMs)) return;
    this.#taken++;
    this.#handOver(
      {
        session: this.#session,
        topic,
        payload,
        qos,
        duplicate,
        isRetained: (firstByte & 0x01) !== 0,
        receivedAtMs: wallMs,
      },
      packetId,
      digest,
    );
  }

  /** PUBREL: the packet identifier is free again ([MQTT-4.3.3-2]); an unknown one is answered as well. */
  release(packetId: number): void {
    if (this.#state.received.get(packetId)?.isStored === false) return this.#port.violate(EARLY_RELEASE);
    this.#state.received.delete(packetId);
    this.#port.channel.acknowledge(PACKET.pubcomp, packetId);
  }

  #readTopic(buffer: Buffer, start: number, end: number): string | undefined {
    if (end > start && isSameAt(this.#topicBytes, buffer, start, end)) return this.#topic;
    const problem = this.#topicProblem(buffer, start, end);
    if (problem) {
      if (typeof problem === 'string') this.#port.close(problem);
      else this.#port.violate(problem);
      return undefined;
    }
    this.#topicBytes = Buffer.from(buffer.subarray(start, end));
    this.#topic = this.#topicBytes.toString('utf8');
    return this.#topic;
  }

  #topicProblem(buffer: Buffer, start: number, end: number): Violation | 'topic_too_long' | undefined {
    const { topicBytes, topicLevels } = this.#context.limits;
    if (start === end) return EMPTY_TOPIC;
    let levels = 1;
    let isAscii = true;
    for (let index = start; index < end; index++) {
      const byte = buffer[index] as number;
      if (byte < 0x20 || byte === 0x7f) return textProblem(buffer, start, end);
      if (byte === HASH || byte === PLUS) return WILDCARD_IN_NAME;
      if (byte === SLASH) levels++;
      if (byte >= 0x80) isAscii = false;
    }
    if (!isAscii) {
      const problem = nonAsciiProblem(buffer, start, end);
      if (problem) return problem;
    }
    return end - start > topicBytes || levels > topicLevels ? 'topic_too_long' : undefined;
  }

  /** Acknowledged and dropped: messages on other topics do not cost a client its connection. */
  #deny(topic: string): void {
    const { hooks, metrics } = this.#context;
    const { identity, remoteAddress } = this.#session;
    metrics.dropped.inc({ reason: 'not_permitted' });
    hooks.onRefused?.({ what: 'publish', claimed: identity.key, topic, remoteAddress });
  }

  /**
   * Whether this QoS 2 message was handed over already; then PUBREC is sent when it may be. A client that forgot its
   * session, as one does that lost its power, gives the identifier to another message: answered as a repetition, that
   * one would be lost.
   */
  #isRepeated(packetId: number, digest: string, duplicate: boolean): boolean {
    const known = this.#state.received.get(packetId);
    if (known === undefined || (!duplicate && known.digest !== digest)) return false;
    known.answering = this.#answering[2];
    if (known.isStored) known.answering.answer(packetId);
    return true;
  }

  /** False when the message is dropped; may stop the reading for a while. */
  #keepRate(qos: 0 | 1 | 2, nowMs: MonotonicMs): boolean {
    const tokens = this.#tokens();
    if (qos === 0) {
      if (this.#identity.bucket.take(nowMs, tokens)) return true;
      this.#context.metrics.dropped.inc({ reason: 'rate' });
      this.#warnOfRate('dropped');
      return false;
    }
    this.#slowDown(this.#identity.bucket.borrow(nowMs, tokens));
    return true;
  }

  /** A packet that was large or took long counts as several messages, and slows the connection down likewise. */
  account(nowMs: MonotonicMs, sizeBytes: number, workMs: DurationMs): void {
    const { limits } = this.#context;
    const counted = Math.max(sizeBytes / limits.countedBytes, workMs / limits.countedWorkMs);
    if (counted > 1) this.#slowDown(this.#identity.bucket.borrow(nowMs, (counted - 1) * this.#tokens()));
  }

  /** Each device of a module may send as much as if it were alone. */
  #tokens(): number {
    return 1 / Math.max(1, this.#session.identity.devices?.() ?? 1);
  }

  #slowDown(waitMs: DurationMs): void {
    if (waitMs <= 0) return;
    this.#context.metrics.throttled.inc();
    this.#warnOfRate('slowed_down');
    this.#port.inbound.holdRate(waitMs);
  }

  #warnOfRate(effect: 'dropped' | 'slowed_down'): void {
    const { identity, remoteAddress } = this.#session;
    const { log, hooks } = this.#context;
    log.warnLimited(`mqtt_rate:${identity.key}`, WARNING_INTERVAL_MS, TOO_FAST[effect], {
      identity: identity.key,
      remote_address: remoteAddress,
    });
    hooks.onTooFast?.(identity, effect);
  }

  #handOver(message: MqttMessage, packetId: number, digest: string): void {
    const { received } = this.#state;
    let entry: ReceivedMessage | undefined;
    if (message.qos === 2) {
      if (received.size >= this.#context.limits.inFlightMessages)
        return this.#port.close('unreleased_messages');
      entry = { digest, isStored: false, answering: this.#answering[2] };
      received.set(packetId, entry);
    }
    const waiting: Waiting = { message, packetId, entry, awaited: undefined };
    if (!this.#context.hooks.mayPublish(this.#session.identity, message.topic)) {
      this.#deny(message.topic);
      return this.#stored(waiting);
    }
    let taken: Promise<void> | void;
    try {
      taken = this.#context.hooks.onMessage(message);
    } catch (error) {
      return this.#refused(waiting, error);
    }
    if (taken === undefined) this.#stored(waiting);
    else if (message.qos === 0) taken.catch((error: unknown) => this.#refused(waiting, error));
    else this.#await(waiting, taken);
  }

  #await(waiting: Waiting, taken: Promise<void>): void {
    const { limits, registry } = this.#context;
    const { message } = waiting;
    if (message.qos === 1) waiting.awaited = this.#noteAwaited(waiting);
    this.#pendingMessages++;
    this.#pendingBytes += message.payload.length;
    if (
      !this.#isWindowHeld &&
      (this.#pendingMessages >= limits.inFlightMessages || this.#pendingBytes >= registry.windowBytes)
    ) {
      this.#isWindowHeld = true;
      this.#port.inbound.hold(HOLD.window);
    }
    this.#noteWaiting();
    if (this.#last?.taken === taken) this.#last.messages.push(waiting);
    else this.#last = this.#follow(taken, [waiting]);
  }

  /** Thousands of messages wait for one sync; those of one connection are settled together. */
  #follow(taken: Promise<void>, messages: Waiting[]): { taken: Promise<void>; messages: Waiting[] } {
    const settle = (how: (waiting: Waiting) => void): void => {
      // Messages of the same promise that arrive from here on have missed it.
      if (this.#last?.taken === taken) this.#last = undefined;
      for (const waiting of messages) {
        how(waiting);
        this.#settle(waiting.message.payload.length);
      }
    };
    taken.then(
      () => settle((waiting) => this.#stored(waiting)),
      (error: unknown) => settle((waiting) => this.#refused(waiting, error)),
    );
    return { taken, messages };
  }

  #noteAwaited({ message: { topic, payload }, packetId }: Waiting): AwaitedMessage {
    const { inFlightMessages: messages, inFlightBytes: bytes } = this.#context.limits;
    const awaited = { topic, payload, isStored: false, answering: this.#answering[1] };
    this.#state.awaited.add(packetId, awaited, { messages, bytes });
    return awaited;
  }

  /**
   * A client that sends its next message only after the last acknowledgement is slowed down by every wait. One that sends by
   * a clock may look the same by chance, while its messages come just after acknowledgements. Each time the guess proves
   * wrong, it takes twice as many messages in a row to make it again.
   */
  #noteWaiting(): void {
    const { limits, clock, hooks, isOneOfFew } = this.#context;
    const nowMs = clock.monotonicMs();
    const isSoon = this.#pendingMessages === 1 && nowMs - this.#acknowledgedMs <= limits.awaitedMs;
    const isPrompt = isSoon && nowMs - this.#identity.lastMessageMs < limits.steadyMs;
    if (this.#awaitedInRow === this.#awaitedNeeded)
      this.#awaitedNeeded = isSoon
        ? limits.awaitedInRow
        : Math.min(this.#awaitedNeeded * 2, limits.awaitedInRowMax);
    this.#awaitedInRow = isPrompt ? this.#awaitedInRow + 1 : 0;
    const isRare = isOneOfFew(this.#identity, nowMs);
    if (isRare || this.#awaitedInRow >= this.#awaitedNeeded) hooks.onAwaited?.();
  }

  #settle(sizeBytes: number): void {
    const { limits, registry } = this.#context;
    this.#pendingMessages--;
    this.#acknowledgedMs = this.#context.clock.monotonicMs();
    this.#pendingBytes -= sizeBytes;
    if (this.#pendingMessages === 0) this.#port.idle();
    if (
      this.#isWindowHeld &&
      this.#pendingMessages <= limits.inFlightMessages / 2 &&
      this.#pendingBytes <= registry.windowBytes / 2
    ) {
      this.#isWindowHeld = false;
      this.#port.inbound.release(HOLD.window);
    }
  }

  #stored({ message, packetId, entry, awaited }: Waiting): void {
    if (awaited) return this.#state.awaited.stored(packetId, awaited);
    if (message.qos === 0) return;
    if (message.qos === 1) return void this.#port.channel.acknowledge(PACKET.puback, packetId);
    if (!entry || this.#state.received.get(packetId) !== entry) return;
    entry.isStored = true;
    entry.answering.answer(packetId);
  }

  /** The handler did not take it: no acknowledgement, so that the client sends it again. */
  #refused({ message, packetId, entry, awaited }: Waiting, error: unknown): void {
    const { log, metrics } = this.#context;
    if (this.#state.received.get(packetId) === entry) this.#state.received.delete(packetId);
    metrics.dropped.inc({ reason: 'not_taken' });
    log.warnLimited('mqtt_not_taken', WARNING_INTERVAL_MS, 'message was not taken', {
      error,
      topic: message.topic,
      qos: message.qos,
    });
    if (message.qos > 0) this.#port.close('not_taken');
    entry?.answering.refuse();
    if (awaited) this.#state.awaited.refused(packetId, awaited);
  }
}

/** For a topic a loop takes a fraction of what a comparison by the runtime does. */
function isSameAt(known: Buffer, buffer: Buffer, start: number, end: number): boolean {
  if (end - start !== known.length) return false;
  for (let index = 0; index < known.length; index++) if (known[index] !== buffer[start + index]) return false;
  return true;
}

/** The length before the topic keeps the two apart. */
function digestOf(topic: Buffer, payload: Buffer): string {
  return createHash('sha1').update(topic).update(payload).digest('base64');
}

const SLASH = 0x2f;
const PLUS = 0x2b;
const HASH = 0x23;

// Whether a client that sends seldom gets its acknowledgement at once. While few clients do, that costs few syncs of
// the disk, however much others send; where many do, they share a sync.

type IsOneOfFew = ReturnType<typeof rareSenders>;

/** Notes each message; answers true when its sender and few others sent seldom lately. */
export function rareSenders(limits: Pick<MqttLimits, 'rareMs' | 'rareSenders' | 'rareWindowMs'>) {
  /** When rare senders sent last, oldest first. */
  const spokeMs: MonotonicMs[] = Array.from({ length: limits.rareSenders }, () => Number.NEGATIVE_INFINITY);
  return (sender: { lastMessageMs: MonotonicMs }, nowMs: MonotonicMs): boolean => {
    const isRare = nowMs - sender.lastMessageMs >= limits.rareMs;
    sender.lastMessageMs = nowMs;
    if (!isRare) return false;
    spokeMs.push(nowMs);
    return nowMs - (spokeMs.shift() ?? nowMs) >= limits.rareWindowMs;
  };
}
