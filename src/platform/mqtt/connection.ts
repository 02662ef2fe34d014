/**
 * One client connection from its first byte to its last: the guard that owns the socket.
 * Bytes are cut into packets, checked, and answered here; the broker library is handed checked requests
 * only. Reading stops while a login, a subscription or a full window is pending, so that memory per
 * connection is bounded by limits and not by what the client sends.
 */
import type { Duplex } from 'node:stream';
import type { DurationMs, DurationS, MonotonicMs } from '../../lib/time.ts';
import { type Clock, setDeadline, type Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { Channel } from './channel.ts';
import { connack, type Connect, connectHeaderProblem, deliverWill, parseConnect } from './connect-packet.ts';
import type { FrameSink } from './frame-reader.ts';
import { HOLD, Inbound } from './inbound.ts';
import type { Login, LoginFailure } from './login.ts';
import {
  headerProblem,
  isViolation,
  PACKET,
  PACKET_TOO_LARGE,
  parsePacketId,
  parseSubscribe,
  parseUnsubscribe,
  PINGRESP_BYTES,
  type Violation,
  violation,
} from './packets.ts';
import { Publications, type PublicationsContext, type PublicationsPort } from './publications.ts';
import type { Router } from './router.ts';
import type { SessionOwner, SessionRegistry, SessionState } from './sessions.ts';
import { Subscriptions } from './subscriptions.ts';
import type { TurnScheduler } from './turn-scheduler.ts';
import type { MqttHooks, MqttIdentity, MqttSession } from './types.ts';

export interface ConnectionContext extends PublicationsContext {
  readonly hooks: MqttHooks;
  readonly login: Login;
  readonly router: Router;
  readonly registry: SessionRegistry<Connection>;
  readonly turns: TurnScheduler;
  readonly newSessionId: () => string;
  readonly newClientId: () => string;
  /** The client has logged in. */
  readonly onOpened: (connection: Connection) => void;
  readonly onEnded: (connection: Connection) => void;
}

/** Return codes of table 3.1. */
const RETURN_CODES: Record<LoginFailure, number> = { unavailable: 3, bad_credentials: 4, not_authorized: 5 };

const WRONG_ACKNOWLEDGEMENT = violation('MQTT-4.8.0-1', 'PUBREC or PUBCOMP for a delivery at QoS 1');

type Stage = 'connect' | 'login' | 'open' | 'ended';

/** State from the moment a login was accepted. */
interface OpenSession {
  readonly session: MqttSession;
  readonly state: SessionState;
  readonly publications: Publications;
  readonly connect: Connect;
}

export class Connection implements SessionOwner, FrameSink {
  readonly #context: ConnectionContext;
  readonly #stream: Duplex;
  readonly #channel: Channel;
  readonly #log: ConnectionLog;
  readonly #remoteAddress: string;
  readonly #inbound: Inbound;
  #stage: Stage = 'connect';
  #open: OpenSession | undefined;
  #subscriptions: Subscriptions | undefined;
  #isAnnounced = false;
  #isDisconnected = false;
  /** CONNECT must arrive, later: the next packet. */
  #silence: Timer | undefined;
  #onIdle: (() => void) | undefined;

  constructor(context: ConnectionContext, stream: Duplex, remoteAddress: string) {
    this.#context = context;
    this.#stream = stream;
    this.#remoteAddress = remoteAddress;
    this.#log = createConnectionLog(context.log, remoteAddress);
    this.#silence = context.clock.setTimer(context.limits.connectTimeoutMs, () =>
      this.close('connect_timeout'),
    );
    this.#channel = new Channel({
      stream,
      clock: context.clock,
      limits: context.limits,
      metrics: context.metrics,
      onOverflow: (queuedBytes) => {
        this.#log.slow(queuedBytes);
        this.close('slow_consumer');
      },
      onClosed: () => {
        this.close('lost');
        context.onEnded(this);
      },
    });
    stream.on('end', () => this.close('lost'));
    stream.on('data', (chunk: Buffer) => context.metrics.bytesIn.inc(chunk.length));
    this.#inbound = new Inbound({
      stream,
      clock: context.clock,
      turns: context.turns,
      sink: this,
      onRead: () => this.#countMessages(),
    });
  }

  /** On their way to the client. */
  get queuedBytes(): number {
    return this.#stream.writableLength;
  }

  get remoteAddress(): string {
    return this.#remoteAddress;
  }

  /** Id of the open session. */
  get sessionId(): string | undefined {
    return this.#open?.session.id;
  }

  // Reading

  #countMessages(): void {
    const taken = this.#open?.publications.takeCount() ?? 0;
    if (taken > 0) this.#context.metrics.messagesIn.inc(taken);
  }

  admit(firstByte: number, remainingLengthBytes: number): Violation | undefined {
    const { limits } = this.#context;
    return this.#stage === 'open'
      ? headerProblem(firstByte, remainingLengthBytes, limits)
      : connectHeaderProblem(firstByte, remainingLengthBytes, limits.connectPacketBytes);
  }

  frame(firstByte: number, buffer: Buffer, start: number, end: number): void {
    if (this.#open === undefined || this.#stage !== 'open') {
      this.#connect(buffer, start, end);
      return;
    }
    this.#handle(this.#open.publications, firstByte, buffer, start, end);
  }

  #handle(publications: Publications, firstByte: number, buffer: Buffer, start: number, end: number): void {
    switch (firstByte >> 4) {
      case PACKET.publish:
        return publications.receive(firstByte, buffer, start, end, this.#inbound.nowMs, this.#inbound.wallMs);
      case PACKET.subscribe:
        return this.#request(parseSubscribe(buffer, start, end), (asked, request) =>
          asked.subscribe(request),
        );
      case PACKET.unsubscribe:
        return this.#request(parseUnsubscribe(buffer, start, end), ({ client }, { packetId, filters }) =>
          client.unsubscribe(packetId, filters),
        );
      case PACKET.pingreq:
        return this.#channel.send([PINGRESP_BYTES]);
      case PACKET.disconnect:
        // [MQTT-3.14.4-3]: the will is discarded.
        this.#isDisconnected = true;
        return this.close('disconnected');
      default:
        this.#acknowledged(publications, firstByte >> 4, buffer, start);
    }
  }

  /**
   * PUBREC and PUBCOMP belong to deliveries at QoS 2, of which there are none. One for a delivery at QoS 1 breaks the rules,
   * and would leave it unacknowledged; one for an unknown delivery means nothing.
   */
  #acknowledged(publications: Publications, type: number, buffer: Buffer, start: number): void {
    const packetId = parsePacketId(buffer, start);
    if (typeof packetId !== 'number') this.refuse(packetId);
    else if (type === PACKET.pubrel) publications.release(packetId);
    else if (type === PACKET.puback) this.#subscriptions?.client.acknowledged(packetId);
    else if (this.#subscriptions?.client.isAwaited(packetId) === true) this.refuse(WRONG_ACKNOWLEDGEMENT);
  }

  refuse(problem: Violation): void {
    this.#log.violation(problem);
    if (problem === PACKET_TOO_LARGE) this.close('packet_too_large');
    else this.close('violation', problem.problem);
  }

  // Login

  #connect(buffer: Buffer, start: number, end: number): void {
    const connect = parseConnect(buffer, start, end);
    if (isViolation(connect)) return this.refuse(connect);
    if ('answer' in connect) return this.#turnAway(connect.answer, connect.result);
    this.#stage = 'login';
    this.#silence?.cancel();
    this.#inbound.hold(HOLD.login);
    this.#login(connect).catch((error: unknown) => this.#failed(error));
  }

  async #login(connect: Connect): Promise<void> {
    const clientId = connect.clientId === '' ? this.#context.newClientId() : connect.clientId;
    const identity = await this.#context.login.verify({
      username: connect.username,
      password: connect.password,
      clientId,
      remoteAddress: this.#remoteAddress,
    });
    if (this.#stage !== 'login') return;
    if (typeof identity === 'string') return this.#turnAway(connack(RETURN_CODES[identity]), identity);
    const { registry } = this.#context;
    const admitted = registry.admit(identity, clientId, connect.cleanSession);
    if (typeof admitted === 'string') {
      this.#log.full(admitted, identity);
      return this.#turnAway(connack(3), admitted);
    }
    this.#judgeWill(identity, connect);
    const session = {
      id: this.#context.newSessionId(),
      identity,
      clientId,
      remoteAddress: this.#remoteAddress,
    };
    const record = registry.of(identity);
    const port: PublicationsPort = {
      channel: this.#channel,
      inbound: this.#inbound,
      violate: (problem) => this.refuse(problem),
      close: (reason) => this.close(reason),
      idle: () => this.#onIdle?.(),
    };
    const publications = new Publications(this.#context, port, session, admitted.state, record);
    this.#log.opened(session);
    this.#open = { session, state: admitted.state, publications, connect };
    const account = publications.account.bind(publications);
    this.#inbound.open({ share: record.share, account });
    registry.enter(identity, clientId, this);
    this.#attach(this.#open, admitted.isPresent);
  }

  /** A will for a topic that its client may not publish to is dropped; the log of the device says so. */
  #judgeWill(identity: MqttIdentity, { will }: Connect): void {
    const { hooks } = this.#context;
    if (!will || hooks.mayPublish(identity, will.topic)) return;
    const remoteAddress = this.#remoteAddress;
    const { topic } = will;
    hooks.onRefused?.({ what: 'will', claimed: identity.key, topic, remoteAddress });
  }

  #attach(open: OpenSession, isPresent: boolean): void {
    this.#subscriptions = new Subscriptions(this.#context, {
      session: open.session,
      state: open.state,
      accepted: () => {
        if (this.#stage === 'login') this.#accept(open, isPresent);
      },
      isOpen: () => this.#stage === 'open',
      write: (chunks) => this.#channel.send(chunks),
      onDelivery: () => this.#context.metrics.messagesOut.inc(),
      close: (reason) => this.close(reason),
    });
  }

  #accept({ session, connect }: OpenSession, isPresent: boolean): void {
    const { hooks, metrics, limits, clock } = this.#context;
    this.#stage = 'open';
    this.#isAnnounced = true;
    this.#context.onOpened(this);
    metrics.connects.inc({ result: 'accepted' });
    hooks.onSessionOpened(session);
    if (this.#isEnded()) return;
    this.#channel.send([connack(0, isPresent)]);
    this.#silence = watchSilence({
      clock,
      keepAliveS: connect.keepAliveS || limits.keepAliveDefaultS,
      lastPacketMs: () => this.#inbound.lastPacketMs,
      isHeld: () => this.#inbound.isHeld,
      onSilent: () => this.close('keepalive'),
    });
    this.#inbound.release(HOLD.login);
  }

  /** Answers a CONNECT with a refusal and closes ([MQTT-3.2.2-5]). */
  #turnAway(answer: Buffer, result: string): void {
    this.#context.metrics.connects.inc({ result });
    this.#channel.send([answer]);
    this.close('refused');
  }

  // Requests of an open session

  /** Packets behind the request wait, so that subscribe and unsubscribe take effect in their order. */
  #request<Request extends object>(
    request: Request | Violation,
    work: (subscriptions: Subscriptions, request: Request) => Promise<Buffer | void>,
  ): void {
    if (isViolation(request)) return this.refuse(request);
    if (!this.#subscriptions) return;
    const answered = work(this.#subscriptions, request);
    this.#inbound.hold(HOLD.request);
    answered
      .then((answer) => {
        if (answer) this.#channel.send([answer]);
        this.#subscriptions?.announce();
        this.#inbound.release(HOLD.request);
      })
      .catch((error: unknown) => this.#failed(error));
  }

  // The end

  takeOver(): void {
    this.close('taken_over');
  }

  giveWay(): void {
    if (this.#stage === 'login') this.#turnAway(connack(3), 'identity_sessions');
    else this.close('identity_sessions');
  }

  get lastPacketMs(): MonotonicMs {
    return this.#inbound.lastPacketMs;
  }

  /** Stops reading; ends once nothing is pending, or after `timeoutMs`. Resolves when the stream is closed. */
  async drain(timeoutMs: DurationMs): Promise<void> {
    this.#inbound.stop();
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
    await this.#channel.whenClosed();
  }

  /** Ends the session at once and the stream after its pending writes. Later calls do nothing. */
  close(reason: string, problem?: string): void {
    if (this.#stage === 'ended') return;
    const wasOpen = this.#stage === 'open';
    this.#stage = 'ended';
    this.#inbound.stop();
    this.#silence?.cancel();
    this.#context.metrics.closes.inc({ reason });
    this.#log.ended(reason);
    if (this.#open) this.#endSession(this.#open, wasOpen, reason, problem);
    this.#subscriptions?.client.detach();
    this.#onIdle?.();
    this.#channel.end();
  }

  #endSession(
    { session, connect }: OpenSession,
    wasOpen: boolean,
    reason: string,
    problem: string | undefined,
  ): void {
    const { registry, hooks } = this.#context;
    if (wasOpen && connect.will && !this.#isDisconnected && reason !== 'stopped')
      deliverWill(this.#context, session, registry.of(session.identity), connect.will);
    registry.leave(session.identity, session.clientId, this);
    if (this.#isAnnounced) hooks.onSessionClosed(session, reason, problem);
  }

  #isEnded(): boolean {
    return this.#stage === 'ended';
  }

  #failed(error: unknown): void {
    if (this.#isEnded()) return;
    this.#log.failed(error);
    this.close('internal');
  }
}

// Ends a session that sends no whole packet within one and a half keep-alive periods ([MQTT-3.1.2-24]).

/**
 * Watches until cancelled. One timer per session that is set anew only when it fires, so that a packet
 * costs nothing here.
 */
function watchSilence(options: {
  clock: Clock;
  keepAliveS: DurationS;
  /** Monotonic time of the last packet. */
  lastPacketMs: () => MonotonicMs;
  /** True while the silence is ours: the connection is not being read. */
  isHeld: () => boolean;
  onSilent: () => void;
}): Timer {
  const { clock } = options;
  const allowedMs = options.keepAliveS * 1_500;
  let sinceMs = clock.monotonicMs();
  let timer: Timer;
  const arm = (): void => {
    sinceMs = Math.max(sinceMs, options.lastPacketMs());
    timer = setDeadline(clock, Math.max(1, sinceMs + allowedMs - clock.monotonicMs()), look);
  };
  const look = (): void => {
    if (options.isHeld()) sinceMs = clock.monotonicMs();
    const isSilent = clock.monotonicMs() - Math.max(sinceMs, options.lastPacketMs()) >= allowedMs;
    if (isSilent) options.onSilent();
    else arm();
  };
  arm();
  return { cancel: () => timer.cancel() };
}

// The service log of one connection: each sentence at most once a minute for one client.

const WARNING_INTERVAL_MS = 60_000;
/** A client may choose a longer name than a person wants to read. */
const CLIENT_ID_LENGTH = 64;

/** Unexpected ends that have no warning of their own. */
const REMARKABLE_ENDS: ReadonlySet<string> = new Set([
  'connect_timeout',
  'identity_sessions',
  'keepalive',
  'not_taken',
  'payload_too_large',
  'topic_too_long',
  'unacknowledged_deliveries',
  'unreleased_messages',
]);

type ConnectionLog = ReturnType<typeof createConnectionLog>;

function createConnectionLog(log: Log, remoteAddress: string) {
  let session: MqttSession | undefined;
  const warn = (key: string, sentence: string, fields: Record<string, unknown>): void => {
    const whose = { identity: session?.identity.key, remote_address: remoteAddress };
    log.warnLimited(`mqtt_${key}`, WARNING_INTERVAL_MS, sentence, { ...whose, ...fields });
  };
  return {
    opened: (opened: MqttSession) => {
      session = opened;
    },
    violation: ({ statement, problem }: Violation) => {
      const sentence = 'connection closed: the client broke the protocol';
      warn(`violation:${remoteAddress}`, sentence, { statement, problem });
    },
    full: (limit: string, { key }: MqttIdentity) =>
      warn(`${limit}:${key}`, 'client turned away: too many sessions', { limit, identity: key }),
    slow: (queuedBytes: number) => {
      const sentence = 'connection closed: the client does not read what it asked for';
      warn(`slow:${remoteAddress}`, sentence, { queued_bytes: queuedBytes });
    },
    ended: (reason: string) => {
      if (!REMARKABLE_ENDS.has(reason)) return;
      const whose = session?.identity.key ?? remoteAddress;
      const client_id = session?.clientId.slice(0, CLIENT_ID_LENGTH);
      warn(`close:${reason}:${whose}`, 'connection closed by the broker', { reason, client_id });
    },
    failed: (error: unknown) => log.error('connection failed inside the broker', { error }),
  };
}
