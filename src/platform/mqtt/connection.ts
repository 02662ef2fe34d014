/**
 * One client connection from its first byte to its last: the guard that owns the socket (decision 5).
 * Bytes are cut into packets, checked, and answered here; the broker library is handed checked requests
 * only. Reading stops while a login, a subscription or a full window is pending, so that memory per
 * connection is bounded by limits and not by what the client sends.
 */
import type { Duplex } from 'node:stream';
import type { Timer } from '../clock/index.ts';
import type { Login, LoginFailure } from './login.ts';
import type { Router, RouterClient } from './router.ts';
import type { MqttHooks, MqttIdentity, MqttSession } from './types.ts';
import { connack, CONNECT_FIRST_BYTE, parseConnect, type Connect } from './connect-packet.ts';
import { FrameReader, type FrameSink } from './frame-reader.ts';
import {
  CONNECT,
  DISCONNECT,
  isViolation,
  PINGREQ,
  PUBACK,
  PUBLISH,
  PUBREL,
  SUBSCRIBE,
  UNSUBSCRIBE,
  violation,
  type Violation,
} from './packet-types.ts';
import {
  headerProblem,
  parsePacketId,
  parseSubscribe,
  parseUnsubscribe,
  PINGRESP_BYTES,
  suback,
  SUBACK_FAILURE,
  unsuback,
} from './packets.ts';
import { Publications, type PublicationsContext, type PublicationsPort } from './publications.ts';
import { deliveryQos, type SessionOwner, type SessionRegistry, type SessionState } from './sessions.ts';
import { levelCount } from './topic.ts';

export interface ConnectionContext extends PublicationsContext {
  readonly hooks: MqttHooks;
  readonly login: Login;
  readonly router: Router;
  readonly registry: SessionRegistry<Connection>;
  readonly newSessionId: () => string;
  readonly newClientId: () => string;
  /** Changes whenever credentials were voided; a login that began before is checked again. */
  readonly credentialsVersion: () => number;
  readonly onEnded: (connection: Connection) => void;
}

const NOT_CONNECT = violation('MQTT-3.1.0-1', 'first packet is not CONNECT');
const CONNECT_FLAGS = violation('MQTT-2.2.2-2', 'flags of the fixed header are not those of the packet type');
const TOO_LARGE = violation('decision 5', 'packet is larger than the limit');
const TOO_MANY_UNACKNOWLEDGED = 'unacknowledged_deliveries';

/** Return codes of table 3.1. */
const RETURN_CODES: Record<LoginFailure, number> = { unavailable: 3, bad_credentials: 4, not_authorized: 5 };

/** Reasons not to read; any of them stops the reading. */
const HOLD_LOGIN = 1;
const HOLD_WINDOW = 2;
const HOLD_RATE = 4;
const HOLD_REQUEST = 8;

const WARNING_INTERVAL_MS = 60_000;

type Stage = 'connect' | 'login' | 'open' | 'ended';

/** What exists from the moment a login was accepted. */
interface OpenSession {
  readonly session: MqttSession;
  readonly state: SessionState;
  readonly publications: Publications;
  readonly connect: Connect;
}

export class Connection implements SessionOwner, FrameSink {
  readonly #context: ConnectionContext;
  readonly #stream: Duplex;
  readonly #remoteAddress: string;
  readonly #reader = new FrameReader(this);
  #stage: Stage = 'connect';
  #holds = 0;
  #open: OpenSession | undefined;
  #router: RouterClient | undefined;
  #isAnnounced = false;
  #isDisconnected = false;
  #unacknowledged = 0;
  #acks: number[] = [];
  #nowMs: number;
  #wallMs: number;
  #lastPacketMs: number;
  /** CONNECT must arrive, later: the next packet. */
  #silence: Timer | undefined;
  #rate: Timer | undefined;
  #linger: Timer | undefined;
  #onIdle: (() => void) | undefined;
  #isStreamClosed = false;

  constructor(context: ConnectionContext, stream: Duplex, remoteAddress: string) {
    this.#context = context;
    this.#stream = stream;
    this.#remoteAddress = remoteAddress;
    this.#nowMs = context.clock.monotonicMs();
    this.#wallMs = context.clock.wallMs();
    this.#lastPacketMs = this.#nowMs;
    this.#silence = context.clock.setTimer(context.limits.connectTimeoutMs, () =>
      this.close('connect_timeout'),
    );
    // A reset connection is an ordinary end; `close` follows every error.
    stream.on('error', () => this.#gone());
    stream.on('end', () => this.close('lost'));
    stream.on('close', () => this.#gone());
    stream.on('data', (chunk: Buffer) => this.#data(chunk));
  }

  get remoteAddress(): string {
    return this.#remoteAddress;
  }

  get state(): SessionState {
    if (!this.#open) throw new Error('a connection without session has no session state');
    return this.#open.state;
  }

  // Reading

  #data(chunk: Buffer): void {
    const { clock, meters } = this.#context;
    meters.bytesIn.inc(chunk.length);
    if (this.#stage === 'ended') return;
    this.#nowMs = clock.monotonicMs();
    this.#wallMs = clock.wallMs();
    this.#reader.push(chunk);
    this.#countMessages();
  }

  #countMessages(): void {
    const taken = this.#open?.publications.takeCount() ?? 0;
    if (taken > 0) this.#context.meters.messagesIn.inc(taken);
  }

  admit(firstByte: number, remainingLengthBytes: number): Violation | undefined {
    const { limits } = this.#context;
    if (this.#stage === 'open')
      return (
        headerProblem(firstByte, remainingLengthBytes) ??
        (remainingLengthBytes > limits.packetBytes ? TOO_LARGE : undefined)
      );
    if (firstByte !== CONNECT_FIRST_BYTE) return firstByte >> 4 === CONNECT ? CONNECT_FLAGS : NOT_CONNECT;
    return remainingLengthBytes > limits.connectPacketBytes ? TOO_LARGE : undefined;
  }

  frame(firstByte: number, buffer: Buffer, start: number, end: number): void {
    this.#lastPacketMs = this.#nowMs;
    if (this.#open === undefined || this.#stage !== 'open') {
      this.#connect(buffer, start, end);
      return;
    }
    const { publications } = this.#open;
    switch (firstByte >> 4) {
      case PUBLISH:
        return publications.receive(firstByte, buffer, start, end, this.#nowMs, this.#wallMs);
      case PUBREL: {
        const packetId = parsePacketId(buffer, start);
        return typeof packetId === 'number' ? publications.release(packetId) : this.refuse(packetId);
      }
      case SUBSCRIBE:
        return this.#request(this.#subscribe(buffer, start, end));
      case UNSUBSCRIBE:
        return this.#request(this.#unsubscribe(buffer, start, end));
      case PINGREQ:
        return this.#send([PINGRESP_BYTES]);
      case PUBACK:
        return this.#delivered(buffer, start);
      case DISCONNECT:
        // [MQTT-3.14.4-3]: the will is discarded.
        this.#isDisconnected = true;
        return this.close('disconnected');
      default: {
        // PUBREC and PUBCOMP belong to deliveries at QoS 2, of which there are none: nothing to do.
        const packetId = parsePacketId(buffer, start);
        if (typeof packetId !== 'number') this.refuse(packetId);
      }
    }
  }

  refuse(problem: Violation): void {
    this.#context.log.warnLimited(
      `mqtt_violation:${this.#remoteAddress}`,
      WARNING_INTERVAL_MS,
      'connection closed: the client broke the protocol',
      {
        statement: problem.statement,
        problem: problem.problem,
        remote_address: this.#remoteAddress,
        identity: this.#open?.session.identity.key,
      },
    );
    this.close(problem === TOO_LARGE ? 'packet_too_large' : 'violation');
  }

  #hold(reason: number): void {
    this.#holds |= reason;
    this.#reader.hold();
    this.#stream.pause();
  }

  #release(reason: number): void {
    this.#holds &= ~reason;
    if (this.#holds !== 0 || this.#stage === 'ended') return;
    // The silence while not reading was ours.
    this.#nowMs = this.#lastPacketMs = this.#context.clock.monotonicMs();
    this.#wallMs = this.#context.clock.wallMs();
    this.#reader.release();
    this.#countMessages();
    if (this.#holds === 0 && this.#stage === 'open') this.#stream.resume();
  }

  // Login

  #connect(buffer: Buffer, start: number, end: number): void {
    const connect = parseConnect(buffer, start, end);
    if (isViolation(connect)) return this.refuse(connect);
    if ('answer' in connect) return this.#turnAway(connect.answer, connect.result);
    this.#stage = 'login';
    this.#silence?.cancel();
    this.#hold(HOLD_LOGIN);
    this.#login(connect).catch((error: unknown) => this.#failed(error));
  }

  async #login(connect: Connect): Promise<void> {
    const clientId = connect.clientId === '' ? this.#context.newClientId() : connect.clientId;
    const identity = await this.#verify(connect, clientId);
    if (this.#stage !== 'login') return;
    if (typeof identity === 'string') return this.#turnAway(connack(RETURN_CODES[identity]), identity);
    const { registry } = this.#context;
    const admitted = registry.admit(identity, clientId, connect.cleanSession);
    if (typeof admitted === 'string') return this.#turnAwayFull(identity, admitted);
    const session = {
      id: this.#context.newSessionId(),
      identity,
      clientId,
      remoteAddress: this.#remoteAddress,
    };
    const { bucket } = registry.of(identity);
    const publications = new Publications(this.#context, this.#port(), session, admitted.state, bucket);
    this.#open = { session, state: admitted.state, publications, connect };
    registry.enter(identity, clientId, this);
    await this.#attach(this.#open);
    if (this.#stage === 'login') this.#accept(this.#open, admitted.isPresent);
  }

  async #verify(connect: Connect, clientId: string): Promise<MqttIdentity | LoginFailure> {
    const { login, credentialsVersion } = this.#context;
    const { username, password } = connect;
    for (;;) {
      const version = credentialsVersion();
      const answer = await login.verify({ username, password, clientId, remoteAddress: this.#remoteAddress });
      if (typeof answer === 'string' || version === credentialsVersion()) return answer;
    }
  }

  /** Makes the client of the broker library and gives it the subscriptions of a kept session. */
  async #attach({ session, state }: OpenSession): Promise<void> {
    const { router, registry, hooks } = this.#context;
    const client = await router.attach({
      id: session.id,
      write: (chunks) => this.#deliver(chunks),
      deliveryQos: (topic) => this.#deliveryQos(topic),
      lost: () => this.close('lost'),
    });
    if (this.#stage === 'ended') return client.detach();
    this.#router = client;
    const kept = [...state.subscriptions];
    state.subscriptions.clear();
    const granted = kept.filter(([filter]) => hooks.maySubscribe(session.identity, filter));
    if (granted.length > 0) await client.subscribe(granted.map(([filter]) => filter));
    if (this.#stage === 'login')
      for (const [filter, qos] of granted) registry.addSubscription(this, filter, qos);
  }

  #accept({ session, connect }: OpenSession, isPresent: boolean): void {
    const { hooks, meters, limits, clock } = this.#context;
    this.#stage = 'open';
    this.#isAnnounced = true;
    meters.connects.inc({ result: 'accepted' });
    hooks.onSessionOpened(session);
    this.#send([connack(0, isPresent)]);
    const keepAliveS = connect.keepAliveS || limits.keepAliveDefaultS;
    this.#lastPacketMs = clock.monotonicMs();
    // [MQTT-3.1.2-24]
    this.#watchSilence(keepAliveS * 1_500);
    this.#release(HOLD_LOGIN);
  }

  #watchSilence(allowedMs: number): void {
    const waitMs = this.#lastPacketMs + allowedMs - this.#context.clock.monotonicMs();
    this.#silence = this.#context.clock.setTimer(Math.max(1, waitMs), () => {
      if (this.#stage !== 'open') return;
      const isSilent = this.#context.clock.monotonicMs() - this.#lastPacketMs >= allowedMs;
      if (isSilent && this.#holds === 0) return this.close('keepalive');
      if (isSilent) this.#lastPacketMs = this.#context.clock.monotonicMs();
      this.#watchSilence(allowedMs);
    });
  }

  #turnAwayFull(identity: MqttIdentity, limit: string): void {
    this.#context.log.warnLimited(
      `mqtt_${limit}:${identity.key}`,
      WARNING_INTERVAL_MS,
      'client turned away: too many sessions',
      { limit, identity: identity.key, remote_address: this.#remoteAddress },
    );
    this.#turnAway(connack(3), limit);
  }

  /** Answers a CONNECT with a refusal and closes ([MQTT-3.2.2-5]). */
  #turnAway(answer: Buffer, result: string): void {
    this.#context.meters.connects.inc({ result });
    this.#send([answer]);
    this.close('refused');
  }

  // Requests of an open session

  #request(work: Promise<void>): void {
    work.catch((error: unknown) => this.#failed(error));
  }

  async #subscribe(buffer: Buffer, start: number, end: number): Promise<void> {
    const subscribe = parseSubscribe(buffer, start, end);
    if (isViolation(subscribe)) return this.refuse(subscribe);
    if (!this.#router || !this.#open) return;
    const { registry } = this.#context;
    const { session, state } = this.#open;
    const added = new Set<string>();
    const returnCodes = subscribe.requests.map(({ filter, qos }) => {
      const isNew = !state.subscriptions.has(filter);
      if (!this.#maySubscribe(session.identity, filter, isNew)) return SUBACK_FAILURE;
      if (isNew) added.add(filter);
      registry.addSubscription(this, filter, qos);
      return qos;
    });
    // Packets behind this one wait, so that subscribe and unsubscribe take effect in their order.
    this.#hold(HOLD_REQUEST);
    if (added.size > 0) await this.#router.subscribe([...added]);
    this.#send([suback(subscribe.packetId, returnCodes)]);
    this.#release(HOLD_REQUEST);
  }

  #maySubscribe(identity: MqttIdentity, filter: string, isNew: boolean): boolean {
    const { limits, hooks } = this.#context;
    if (isNew && this.state.subscriptions.size >= limits.subscriptionsPerSession) return false;
    if (Buffer.byteLength(filter) > limits.topicBytes || levelCount(filter) > limits.topicLevels)
      return false;
    return !filter.startsWith('$') && hooks.maySubscribe(identity, filter);
  }

  async #unsubscribe(buffer: Buffer, start: number, end: number): Promise<void> {
    const unsubscribe = parseUnsubscribe(buffer, start, end);
    if (isViolation(unsubscribe)) return this.refuse(unsubscribe);
    if (!this.#router || !this.#open) return;
    const { subscriptions } = this.#open.state;
    const removed = new Set(unsubscribe.filters.filter((filter) => subscriptions.has(filter)));
    for (const filter of removed) this.#context.registry.removeSubscription(this, filter);
    this.#hold(HOLD_REQUEST);
    if (removed.size > 0) await this.#router.unsubscribe([...removed]);
    this.#send([unsuback(unsubscribe.packetId)]);
    this.#release(HOLD_REQUEST);
  }

  // Writing

  #deliver(chunks: readonly Buffer[]): void {
    this.#context.meters.messagesOut.inc();
    this.#send(chunks);
  }

  #deliveryQos(topic: string): 0 | 1 | undefined {
    const qos = this.#stage === 'open' ? deliveryQos(this.state.subscriptions, topic) : undefined;
    if (qos !== 1) return qos;
    this.#unacknowledged++;
    if (this.#unacknowledged <= this.#context.limits.unacknowledgedDeliveries) return 1;
    this.close(TOO_MANY_UNACKNOWLEDGED);
    return undefined;
  }

  #delivered(buffer: Buffer, start: number): void {
    const packetId = parsePacketId(buffer, start);
    if (typeof packetId !== 'number') return this.refuse(packetId);
    this.#unacknowledged = Math.max(0, this.#unacknowledged - 1);
  }

  #port(): PublicationsPort {
    return {
      acknowledge: (packetType, packetId) => this.#acknowledge(packetType, packetId),
      violate: (problem) => this.refuse(problem),
      close: (reason) => this.close(reason),
      holdWindow: () => this.#hold(HOLD_WINDOW),
      releaseWindow: () => this.#release(HOLD_WINDOW),
      holdRate: (durationMs) => {
        this.#hold(HOLD_RATE);
        this.#rate?.cancel();
        this.#rate = this.#context.clock.setTimer(durationMs, () => this.#release(HOLD_RATE));
      },
      idle: () => this.#onIdle?.(),
    };
  }

  /** Collects acknowledgements; all of one turn (one group commit) leave in one write. */
  #acknowledge(packetType: number, packetId: number): void {
    if (this.#stage === 'ended') return;
    if (this.#acks.length === 0) process.nextTick(() => this.#flushAcks());
    // [MQTT-3.6.1-1] is about PUBREL only: these three have no flags.
    this.#acks.push((packetType << 16) | packetId);
  }

  #flushAcks(): void {
    const acks = this.#acks;
    if (acks.length === 0) return;
    this.#acks = [];
    const bytes = Buffer.allocUnsafe(acks.length * 4);
    let offset = 0;
    for (const ack of acks) {
      bytes[offset] = (ack >> 16) << 4;
      bytes[offset + 1] = 2;
      bytes[offset + 2] = (ack >> 8) & 0xff;
      bytes[offset + 3] = ack & 0xff;
      offset += 4;
    }
    this.#send([bytes]);
  }

  #send(chunks: readonly Buffer[]): void {
    const stream = this.#stream;
    if (this.#stage === 'ended' || !stream.writable) return;
    let sizeBytes = 0;
    if (chunks.length > 1) stream.cork();
    for (const chunk of chunks) {
      sizeBytes += chunk.length;
      stream.write(chunk);
    }
    if (chunks.length > 1) stream.uncork();
    this.#context.meters.bytesOut.inc(sizeBytes);
    if (stream.writableLength <= this.#context.limits.outboundQueuedBytes) return;
    this.#context.log.warnLimited(
      `mqtt_slow:${this.#remoteAddress}`,
      WARNING_INTERVAL_MS,
      'connection closed: the client does not read what it asked for',
      { queued_bytes: stream.writableLength, identity: this.#open?.session.identity.key },
    );
    this.close('slow_consumer');
    stream.destroy();
  }

  // The end

  takeOver(): void {
    this.close('taken_over');
  }

  /** Stops reading; ends once nothing is pending, or after `timeoutMs`. Resolves when the stream is closed. */
  async drain(timeoutMs: number): Promise<void> {
    this.#reader.stop();
    this.#stream.pause();
    if (this.#open && this.#open.publications.pending > 0) {
      await new Promise<void>((resolve) => {
        const timer = this.#context.clock.setTimer(timeoutMs, resolve);
        this.#onIdle = () => {
          timer.cancel();
          resolve();
        };
      });
    }
    this.close('stopped');
    if (this.#isStreamClosed) return;
    await new Promise<void>((resolve) => this.#stream.once('close', () => resolve()));
  }

  /** Ends the session at once and the stream after its pending writes. Later calls do nothing. */
  close(reason: string): void {
    if (this.#stage === 'ended') return;
    this.#flushAcks();
    const wasOpen = this.#stage === 'open';
    this.#stage = 'ended';
    this.#reader.stop();
    this.#silence?.cancel();
    this.#rate?.cancel();
    this.#context.meters.closes.inc({ reason });
    if (this.#open) this.#endSession(this.#open, wasOpen, reason);
    this.#router?.detach();
    this.#onIdle?.();
    this.#endStream();
  }

  #endSession({ session, connect }: OpenSession, wasOpen: boolean, reason: string): void {
    const { registry, hooks } = this.#context;
    if (wasOpen && connect.will && !this.#isDisconnected && reason !== 'stopped')
      this.#deliverWill(session, connect.will);
    registry.leave(session.identity, session.clientId, this);
    if (this.#isAnnounced) hooks.onSessionClosed(session);
  }

  /** [MQTT-3.1.2-8]; a will that the client may not publish is ignored. */
  #deliverWill(session: MqttSession, will: NonNullable<Connect['will']>): void {
    const { hooks, limits, clock, log, meters } = this.#context;
    if (Buffer.byteLength(will.topic) > limits.topicBytes || levelCount(will.topic) > limits.topicLevels)
      return;
    if (!hooks.mayPublish(session.identity, will.topic)) return;
    const onFailure = (error: unknown): void => {
      meters.dropped.inc({ reason: 'not_taken' });
      log.warn('will was not taken', { error, topic: will.topic });
    };
    try {
      const taken = hooks.onMessage({ session, ...will, duplicate: false, receivedAtMs: clock.wallMs() });
      taken?.catch(onFailure);
    } catch (error) {
      onFailure(error);
    }
  }

  /** Sends the end after what is queued; what still arrives is discarded, so that the end is not a reset. */
  #endStream(): void {
    if (this.#isStreamClosed) return;
    this.#linger = this.#context.clock.setTimer(this.#context.limits.closeTimeoutMs, () =>
      this.#stream.destroy(),
    );
    this.#stream.end();
    this.#stream.resume();
  }

  #gone(): void {
    if (this.#isStreamClosed) return;
    this.#isStreamClosed = true;
    this.close('lost');
    this.#linger?.cancel();
    this.#stream.destroy();
    this.#context.onEnded(this);
  }

  #failed(error: unknown): void {
    if (this.#stage === 'ended') return;
    this.#context.log.error('connection failed inside the broker', { error });
    this.close('internal');
  }
}
