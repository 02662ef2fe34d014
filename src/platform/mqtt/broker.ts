/** The broker: listener, connection limits and the face of `types.ts`. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { Log } from '../log/index.ts';
import type { Instruments } from '../metrics/index.ts';
import { closeServer, listen } from '../sockets/index.ts';
import type { MqttCertificate, MqttHooks, MqttLimits, MqttSession } from './types.ts';
import type { DurationMs } from '../../lib/time.ts';
import { Admission, type Full } from '../../lib/admission.ts';
import { addressKey, plainAddress } from '../../lib/address.ts';
import { LIMITS } from '../../lib/limits.ts';
import { Rates } from '../../lib/token-bucket.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { createLogin, withCertificate } from './login.ts';
import { createBrokerMetrics } from './broker-metrics.ts';
import { rareSenders } from './publications.ts';
import { RetainedMessages } from './retained-messages.ts';
import { Router } from './router.ts';
import { SessionRegistry } from './sessions.ts';
import { TlsListener } from './tls-listener.ts';
import { TurnScheduler } from './turn-scheduler.ts';

const WARNING_INTERVAL_MS = 60_000;
/** Address of streams that have none. */
const NO_ADDRESS = 'local';

type Stream = Duplex & { remoteAddress?: string | undefined };

/** Parts of the gateway that the broker needs. */
export interface MqttBrokerOptions extends Instruments {
  hooks: MqttHooks;
  host: string;
  /** TCP port; 0 picks a free one. */
  port: number;
  /** The listener for MQTT over TLS, on which every client needs a certificate that `secureContext.ca` signed. */
  tls?: { host: string; port: number; secureContext: SecureContextOptions } | undefined;
  /** Members replace those of `LIMITS.mqtt`. */
  limits?: Partial<MqttLimits>;
  /** Makes the client id of a client that gives none. */
  newClientId?: () => string;
}

/** Accepts streams at once and listens after `start`. */
export class MqttBroker {
  /** Retained messages for new subscriptions; they are put there explicitly. */
  readonly retained: Pick<RetainedMessages, 'set' | 'forget'>;
  readonly #options: MqttBrokerOptions;
  readonly #connectRate: Rates;
  readonly #admission: Admission<Connection>;
  #server: Server | undefined;
  #isStopping = false;
  readonly #context: ConnectionContext;
  readonly #secure: TlsListener | undefined;

  static async create(options: MqttBrokerOptions): Promise<MqttBroker> {
    const { log } = options;
    const retained = new RetainedMessages({ ...LIMITS.mqtt, ...options.limits });
    const router = await Router.create(retained, (error) => log.error('broker library failed', { error }));
    return new MqttBroker(options, router, retained);
  }

  private constructor(options: MqttBrokerOptions, router: Router, retained: RetainedMessages) {
    const { clock, log } = options;
    const limits = { ...LIMITS.mqtt, ...options.limits };
    const registry = new SessionRegistry<Connection>(clock, limits);
    const metrics = createBrokerMetrics(options.metrics, () => registry.size, {
      limit: limits.outboundQueuedBytes,
      depth: () => Math.max(0, ...[...this.#admission.connections()].map(({ queuedBytes }) => queuedBytes)),
    });
    const hooks = shielded(options.hooks, log);
    let lastSession = 0;
    this.#options = options;
    this.retained = retained;
    this.#connectRate = new Rates({ perSecond: limits.connectsPerSecond, burst: limits.connectBurst });
    this.#admission = new Admission<Connection>(limits, (connection, limit) => {
      this.#warn(limit, connection.remoteAddress, 'connection without a login gave way to the next');
      connection.close('gave_way');
    });
    this.#context = {
      clock,
      log,
      limits,
      metrics,
      hooks,
      registry,
      turns: new TurnScheduler(limits),
      isOneOfFew: rareSenders(limits),
      router,
      login: createLogin({ clock, log, limits, hooks: options.hooks }),
      newSessionId: () => `session-${++lastSession}`,
      newClientId: options.newClientId ?? randomUUID,
      onOpened: (connection) => this.#admission.authenticate(connection),
      onEnded: (connection) => this.#admission.leave(connection),
    };
    this.#secure =
      options.tls &&
      new TlsListener({
        ...options.tls,
        log,
        limits,
        metrics,
        mayConnect: (address) => this.#mayConnect(address),
        hooks,
        accept: (stream, certificate) => this.accept(stream, certificate),
      });
  }

  /** Takes one client stream: of a listener with the certificate that its handshake proved, or of a test from memory. */
  accept(stream: Stream, certificate?: MqttCertificate): void {
    // Its `close` has been and would never be seen.
    if (stream.destroyed) return;
    if (this.#isStopping) return discard(stream);
    const address = plainAddress(stream.remoteAddress ?? NO_ADDRESS);
    // Over TLS it was counted before its handshake.
    if (!certificate && !this.#mayConnect(address)) return this.#refuse(stream, address, 'address_rate');
    const own = certificate
      ? { ...this.#context, login: withCertificate(this.#context.login, certificate) }
      : this.#context;
    const full = this.#admission.admit(address, () => new Connection(own, stream, address));
    if (full !== undefined) this.#refuse(stream, address, full);
  }

  /** Opens the listeners; resolves with the ports really used. */
  async start(): Promise<{ port: number; tlsPort: number | undefined }> {
    this.#server = createServer({ noDelay: true }, (socket) => this.accept(socket));
    const port = await listen(this.#server, this.#options.host, this.#options.port);
    this.#server.on('error', (error) => this.#options.log.error('MQTT listener failed', { error }));
    const tlsPort = await this.#secure?.start();
    this.#options.log.info('MQTT broker listens', { host: this.#options.host, port, tls_port: tlsPort });
    return { port, tlsPort };
  }

  /** Another certificate for the TLS listener; open connections live on. */
  setSecureContext(context: SecureContextOptions): void {
    this.#secure?.setSecureContext(context);
  }

  /**
   * Stops accepting and reading, waits for pending acknowledgements (bounded), then closes every session
   * after its pending writes. Wills are not delivered: it is the gateway that goes away.
   */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const closed = Promise.all([this.#server && closeServer(this.#server), this.#secure?.stop()]);
    await Promise.all(
      [...this.#admission.connections()].map((connection) =>
        connection.drain(this.#context.limits.stopTimeoutMs),
      ),
    );
    await closed;
    await this.#context.router.close();
  }

  /** Number of sessions now connected with a granted subscription that matches the topic. */
  subscribers(topic: string): number {
    return this.#context.router.subscriberCount(topic);
  }

  /**
   * Publishes to the sessions now connected and subscribed, at QoS 1 or lower as subscribed, once per
   * session; nothing is queued for absent sessions. What a kept session does not acknowledge is sent
   * again when it returns, unless `isWanted` says no by then. Resolves with the number of sessions it was
   * written to.
   */
  async publish(topic: string, payload: string | Buffer, isWanted?: () => boolean): Promise<number> {
    const count = this.#context.router.subscriberCount(topic);
    if (count > 0) await this.#context.router.publish(topic, Buffer.from(payload), isWanted);
    return count;
  }

  /** Closes every session of an identity and forgets what was kept for it; logins under way are checked again. */
  closeSessions(identityKey: string): void {
    this.#context.login.recheck();
    for (const connection of this.#context.registry.owners(identityKey)) connection.close('revoked');
    this.#context.registry.forgetKept(identityKey);
  }

  /** Time since the last packet of a session; undefined: it has ended. */
  silentMs(session: MqttSession): DurationMs | undefined {
    const connection = this.#connectionOf(session);
    return connection && this.#context.clock.monotonicMs() - connection.lastPacketMs;
  }

  /** Ends one session; its credentials stay. */
  closeSession(session: MqttSession): void {
    this.#connectionOf(session)?.close('given_up');
  }

  sessionCount(identityKey?: string): number {
    return this.#context.registry.count(identityKey);
  }

  #connectionOf({ id, identity }: MqttSession): Connection | undefined {
    return this.#context.registry.owners(identity.key).find(({ sessionId }) => sessionId === id);
  }

  #mayConnect(address: string | undefined): boolean {
    return this.#connectRate.take(addressKey(address), this.#context.clock.monotonicMs()) === 0;
  }

  #warn(limit: string, address: string, sentence: string): void {
    this.#options.log.warnLimited(`mqtt_${limit}:${address}`, WARNING_INTERVAL_MS, sentence, {
      limit,
      remote_address: address,
    });
  }

  #refuse(stream: Duplex, address: string, limit: 'address_rate' | Full): void {
    this.#context.metrics.connects.inc({ result: limit });
    this.#warn(limit, address, 'connection refused: too many');
    discard(stream);
  }
}

function discard(stream: Duplex): void {
  stream.on('error', () => undefined);
  stream.destroy();
}

/** Hooks that do not throw, but for `onMessage`, whose failure has a meaning of its own. */
function shielded(hooks: MqttHooks, log: Log): MqttHooks {
  const guard = <Answer>(name: string, ask: () => Answer, otherwise: Answer): Answer => {
    try {
      return ask();
    } catch (error) {
      log.error('hook of the MQTT broker failed', { hook: name, error });
      return otherwise;
    }
  };
  return {
    authenticate: (login) => hooks.authenticate(login),
    mayPublish: (identity, topic) => guard('mayPublish', () => hooks.mayPublish(identity, topic), false),
    maySubscribe: (identity, filter) =>
      guard('maySubscribe', () => hooks.maySubscribe(identity, filter), false),
    onMessage: (message) => hooks.onMessage(message),
    onSubscribed: (session, filters) =>
      guard('onSubscribed', () => hooks.onSubscribed?.(session, filters), undefined),
    onAwaited: () => guard('onAwaited', () => hooks.onAwaited?.(), undefined),
    onTooFast: (identity, effect) => guard('onTooFast', () => hooks.onTooFast?.(identity, effect), undefined),
    onRefused: (refusal) => guard('onRefused', () => hooks.onRefused?.(refusal), undefined),
    nameOf: (claimed) => guard('nameOf', () => hooks.nameOf?.(claimed), undefined),
    onSessionOpened: (session) => guard('onSessionOpened', () => hooks.onSessionOpened(session), undefined),
    onSessionClosed: (session, reason, problem) =>
      guard('onSessionClosed', () => hooks.onSessionClosed(session, reason, problem), undefined),
  };
}
