/**
 * The listener for MQTT over TLS 1.2 or newer: lets in who has a certificate of our authority and its key.
 *
 * OpenSSL would refuse a certificate whose dates do not fit the clock, so on a board that starts in 1970 no
 * device could connect. It is therefore told to accept any certificate, which the handshake proves the peer
 * to own, and here the signature of our authority and the purpose are checked, the dates are not: what ends a
 * certificate is its revocation, which the login asks for at every connection. OpenSSL's own verdict cannot
 * be used for the rest, because a fault of the dates hides one of the signature.
 */
import { Admission, type Full } from '../../lib/admission.ts';
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type TLSSocket } from 'node:tls';
import type { Log } from '../log/index.ts';
import { closeServer, listen } from './listen.ts';
import type { BrokerMetrics } from './broker-metrics.ts';
import type { MqttCertificate, MqttHooks, MqttLimits } from './types.ts';

export interface TlsListener {
  /** Resolves with the port really used. */
  start(): Promise<number>;
  /** Stops accepting and ends handshakes; resolves when the last connection is closed. */
  stop(): Promise<void>;
  setSecureContext(context: SecureContextOptions): void;
}

const WARNING_INTERVAL_MS = 60_000;
/** Purpose "TLS client" (RFC 5280 section 4.2.1.12). */
const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2';

export function createTlsListener(options: {
  host: string;
  port: number;
  secureContext: SecureContextOptions;
  log: Log;
  limits: MqttLimits;
  metrics: BrokerMetrics;
  /** Asked at each connection, before its handshake. */
  mayArrive: (address: string | undefined) => boolean;
  hooks: Pick<MqttHooks, 'onRefused' | 'nameOf'>;
  accept: (socket: TLSSocket, certificate: MqttCertificate) => void;
}): TlsListener {
  const { log, limits, metrics, mayArrive } = options;
  let authority = authorityOf(options.secureContext);
  const handshakes = createHandshakes(limits, (socket, limit) => {
    metrics.connects.inc({ result: limit });
    socket.destroy();
  });
  const server = createServer({
    ...contextOf(options.secureContext),
    requestCert: true,
    rejectUnauthorized: false,
    handshakeTimeout: limits.connectTimeoutMs,
    noDelay: true,
  });
  // Open connections and handshakes have each their own limit; this one is never reached before.
  server.maxConnections = 2 * limits.connections;

  function refuse(socket: TLSSocket, problem: string, claimed?: string): void {
    metrics.connects.inc({ result: 'certificate' });
    const address = socket.remoteAddress ?? 'unknown';
    log.warnLimited(`mqtt_certificate:${address}`, WARNING_INTERVAL_MS, 'connection refused: certificate', {
      problem,
      claims_to_be: claimed === undefined ? undefined : options.hooks.nameOf?.(claimed),
      remote_address: address,
    });
    options.hooks.onRefused?.({ what: 'login', reason: 'certificate', claimed, remoteAddress: address });
    socket.destroy();
  }

  server.on('connection', (socket: Socket) => {
    if (mayArrive(socket.remoteAddress)) return handshakes.begin(socket);
    metrics.connects.inc({ result: 'address_rate' });
    socket.destroy();
  });
  server.on('secureConnection', (socket) => {
    handshakes.end(socket);
    socket.on('error', (error) => log.debug('TLS connection failed', { error }));
    const certificate = socket.getPeerX509Certificate();
    const problem = certificate ? problemOf(certificate, authority) : 'none was sent';
    if (!certificate || problem !== undefined)
      refuse(socket, problem ?? '', certificate && describe(certificate).commonName);
    else options.accept(socket, describe(certificate));
  });
  server.on('tlsClientError', (error, socket) => {
    metrics.connects.inc({ result: 'handshake' });
    log.debug('TLS handshake failed', { error });
    socket.destroy();
  });

  return {
    start: async () => {
      const port = await listen(server, options.host, options.port);
      server.on('error', (error) => log.error('MQTT listener failed', { error }));
      return port;
    },
    stop: async () => {
      if (!server.listening) return;
      const closed = closeServer(server);
      handshakes.destroyAll();
      await closed;
    },
    setSecureContext: (context) => {
      authority = authorityOf(context);
      server.setSecureContext(contextOf(context));
    },
  };
}

interface Handshakes {
  /** The oldest that is under way may be sent away for it. */
  begin(socket: Socket): void;
  end(socket: Socket): void;
  destroyAll(): void;
}

/** Sockets whose handshake is under way. The socket after it is another object with the same far end. */
function createHandshakes(limits: MqttLimits, giveWay: (socket: Socket, limit: Full) => void): Handshakes {
  const admission = new Admission<Socket>(limits, giveWay);
  const pending = new Map<string, Socket>();
  const end = ({ remoteAddress, remotePort }: Pick<Socket, 'remoteAddress' | 'remotePort'>): void => {
    const place = `${remoteAddress} ${remotePort}`;
    const socket = pending.get(place);
    pending.delete(place);
    if (socket) admission.leave(socket);
  };
  return {
    begin: (socket) => {
      const { remoteAddress, remotePort } = socket;
      // None of them has logged in, so that there always is room.
      admission.admit(remoteAddress, () => socket);
      pending.set(`${remoteAddress} ${remotePort}`, socket);
      // A closed socket has forgotten its far end.
      socket.once('close', () => end({ remoteAddress, remotePort }));
    },
    end,
    destroyAll: () => {
      for (const socket of pending.values()) socket.destroy();
    },
  };
}

function contextOf(context: SecureContextOptions): SecureContextOptions {
  return { ...context, minVersion: 'TLSv1.2' };
}

function authorityOf({ ca }: SecureContextOptions): X509Certificate {
  if (typeof ca !== 'string') throw new Error('the authority of client certificates must be given as PEM');
  return new X509Certificate(ca);
}

function problemOf(certificate: X509Certificate, authority: X509Certificate): string | undefined {
  if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey))
    return 'it is not of our authority';
  // Node calls the extended key usage so.
  if (!certificate.keyUsage?.includes(CLIENT_AUTHENTICATION)) return 'it is not for clients';
  return undefined;
}

function describe(certificate: X509Certificate): MqttCertificate {
  return {
    commonName: /^CN=(.*)$/m.exec(certificate.subject)?.[1] ?? '',
    serial: certificate.serialNumber.toLowerCase(),
    fingerprint: certificate.fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}
