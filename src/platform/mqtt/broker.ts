/** The broker: listener, connection limits and the face of `types.ts`. */
import { randomUUID } from 'node:crypto';
import { createServer, type Server } from 'node:net';
import type { Duplex } from 'node:stream';
import type { SecureContextOptions } from 'node:tls';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from '../metrics/index.ts';
import type { MqttBroker, MqttCertificate, MqttHooks, MqttLimits } from './types.ts';
import { Admission, type Full } from '../../lib/admission.ts';
import { createArrivals } from '../../lib/arrivals.ts';
import { LIMITS } from '../../lib/limits.ts';
import { Connection, type ConnectionContext } from './connection.ts';
import { createLogin, withCertificate } from './login.ts';
import { createBrokerMetrics } from './broker-metrics.ts';
import { RareSenders } from './rare-senders.ts';
import { Router } from './router.ts';
import { closeServer, listen } from './listen.ts';
import { SessionRegistry } from './sessions.ts';
import { createTlsListener } from './tls-listener.ts';
import { TurnScheduler } from './turn-scheduler.ts';

const WARNING_INTERVAL_MS = 60_000;
/** Address of streams that have none. */
const NO_ADDRESS = 'local';

type Stream = Duplex & { remoteAddress?: string | undefined };

export interface MqttBrokerOptions {
  clock: Clock;
  log: Log;
  metrics: Metrics;
  hooks: MqttHooks;
  /** Address of the plain listener. */
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

/** Makes a broker that accepts streams at once and listens after `start`. */
export async function createMqttBroker(options: MqttBrokerOptions): Promise<MqttBroker> {
  const { clock, log } = options;
  const limits: MqttLimits = { ...LIMITS.mqtt, ...options.limits };
  const registry = new SessionRegistry<Connection>(clock, limits);
  const metrics = createBrokerMetrics(options.metrics, () => registry.size);
  const hooks = shielded(options.hooks, log);
  const login = createLogin({ clock, log, limits, hooks: options.hooks });
  const router = await Router.create(clock, (error) => log.error('broker library failed', { error }));
  const arrivals = createArrivals({ perSecond: limits.connectsPerSecond, burst: limits.connectBurst });
  const mayArrive = (address: string | undefined): boolean => arrivals.take(address, clock.monotonicMs());
  const admission = new Admission<Connection>(limits, (connection, limit) => {
    warn(limit, connection.remoteAddress, 'connection without a login gave way to the next');
    connection.close('gave_way');
  });
  let server: Server | undefined;
  let isStopping = false;
  let lastSession = 0;

  const context: ConnectionContext = {
    clock,
    log,
    limits,
    metrics,
    hooks,
    registry,
    turns: new TurnScheduler(limits),
    rareSenders: new RareSenders(limits),
    router,
    login,
    newSessionId: () => `session-${++lastSession}`,
    newClientId: options.newClientId ?? randomUUID,
    onOpened: (connection) => admission.authenticate(connection),
    onEnded: (connection) => admission.leave(connection),
  };

  function warn(limit: string, address: string, sentence: string): void {
    log.warnLimited(`mqtt_${limit}:${address}`, WARNING_INTERVAL_MS, sentence, {
      limit,
      remote_address: address,
    });
  }

  function refuse(stream: Duplex, address: string, limit: 'address_rate' | Full): void {
    metrics.connects.inc({ result: limit });
    warn(limit, address, 'connection refused: too many');
    discard(stream);
  }

  function accept(stream: Stream, certificate?: MqttCertificate): void {
    // Its `close` has been and would never be seen.
    if (stream.destroyed) return;
    if (isStopping) return discard(stream);
    const address = stream.remoteAddress ?? NO_ADDRESS;
    // Over TLS it was counted before its handshake.
    if (!certificate && !mayArrive(address)) return refuse(stream, address, 'address_rate');
    const own = certificate ? { ...context, login: withCertificate(login, certificate) } : context;
    const full = admission.admit(address, () => new Connection(own, stream, address));
    if (full !== undefined) refuse(stream, address, full);
  }

  const secure =
    options.tls && createTlsListener({ ...options.tls, log, limits, metrics, mayArrive, hooks, accept });

  return {
    accept: (stream) => accept(stream),
    start: async () => {
      server = createServer({ noDelay: true }, (socket) => accept(socket));
      const port = await listen(server, options.host, options.port);
      server.on('error', (error) => log.error('MQTT listener failed', { error }));
      const tlsPort = await secure?.start();
      log.info('MQTT broker listens', { host: options.host, port, tls_port: tlsPort });
      return { port, tlsPort };
    },
    setSecureContext: (context) => secure?.setSecureContext(context),
    stop: async () => {
      isStopping = true;
      const closed = Promise.all([server && closeServer(server), secure?.stop()]);
      await Promise.all(
        [...admission.connections()].map((connection) => connection.drain(limits.stopTimeoutMs)),
      );
      await closed;
      await router.close();
    },
    subscribers: (topic) => router.subscriberCount(topic),
    publish: async (topic, payload, expiresMs) => {
      const count = router.subscriberCount(topic);
      if (count > 0) await router.publish(topic, Buffer.from(payload), expiresMs);
      return count;
    },
    closeSessions: (identityKey) => {
      login.recheck();
      for (const connection of registry.owners(identityKey)) connection.close('revoked');
      registry.forgetKept(identityKey);
    },
    sessionCount: (identityKey) => registry.count(identityKey),
  };
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
    onAwaited: () => guard('onAwaited', () => hooks.onAwaited?.(), undefined),
    onRefused: (refusal) => guard('onRefused', () => hooks.onRefused?.(refusal), undefined),
    nameOf: (claimed) => guard('nameOf', () => hooks.nameOf?.(claimed), undefined),
    onSessionOpened: (session) => guard('onSessionOpened', () => hooks.onSessionOpened(session), undefined),
    onSessionClosed: (session, reason) =>
      guard('onSessionClosed', () => hooks.onSessionClosed(session, reason), undefined),
  };
}
