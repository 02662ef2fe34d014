/**
 * The listener for MQTT over TLS 1.2 or newer: lets in who has a certificate of our authority and its key.
 *
 * OpenSSL would refuse a certificate whose dates do not fit the clock, so on a board that starts in 1970 no
 * device could connect. So it accepts any certificate that the handshake proves the peer to own, and the
 * signature of our authority and the purpose are checked here. The dates are not: a certificate ends by its
 * revocation, which the login looks up at every connection. OpenSSL's own verdict cannot be used for the rest,
 * because a fault of the dates hides one of the signature.
 */
import { plainAddress } from '../../lib/address.ts';
import { Admission } from '../../lib/admission.ts';
import { X509Certificate } from 'node:crypto';
import type { Socket } from 'node:net';
import { createServer, type SecureContextOptions, type Server, type TLSSocket } from 'node:tls';
import type { Log } from '../log/index.ts';
import { closeServer, listen, SocketsByEnds } from '../sockets/index.ts';
import type { BrokerMetrics } from './broker-metrics.ts';
import type { MqttCertificate, MqttHooks, MqttLimits } from './types.ts';

const WARNING_INTERVAL_MS = 60_000;
/** Purpose "TLS client" (RFC 5280 section 4.2.1.12). */
const CLIENT_AUTHENTICATION = '1.3.6.1.5.5.7.3.2';

interface TlsListenerOptions {
  host: string;
  port: number;
  secureContext: SecureContextOptions;
  log: Log;
  limits: MqttLimits;
  metrics: BrokerMetrics;
  /** Asked at each connection, before its handshake. */
  mayConnect: (address: string | undefined) => boolean;
  hooks: Pick<MqttHooks, 'onRefused' | 'nameOf'>;
  accept: (socket: TLSSocket, certificate: MqttCertificate) => void;
}

export class TlsListener {
  readonly #options: TlsListenerOptions;
  #authority: X509Certificate;
  /** Sockets whose handshake is under way. */
  readonly #handshakes = new SocketsByEnds();
  readonly #server: Server;

  constructor(options: TlsListenerOptions) {
    const { log, limits, metrics } = options;
    this.#options = options;
    this.#authority = authorityOf(options.secureContext);
    const admission = new Admission<Socket>(limits, (socket, limit) => {
      metrics.connects.inc({ result: limit });
      socket.destroy();
    });
    this.#server = createServer({
      ...contextOf(options.secureContext),
      requestCert: true,
      rejectUnauthorized: false,
      handshakeTimeout: limits.connectTimeoutMs,
      noDelay: true,
    });
    // Open connections and handshakes have each their own limit; this one is never reached before.
    this.#server.maxConnections = 2 * limits.connections;
    this.#server.on('connection', (socket: Socket) => {
      if (!options.mayConnect(socket.remoteAddress)) {
        metrics.connects.inc({ result: 'address_rate' });
        socket.destroy();
        return;
      }
      // The oldest handshake may be ended for it. None of them has logged in, so that there always is room.
      admission.admit(socket.remoteAddress, () => socket);
      this.#handshakes.add(socket, () => admission.leave(socket));
    });
    this.#server.on('secureConnection', (socket) => {
      const accepted = this.#handshakes.take(socket);
      if (accepted) admission.leave(accepted);
      socket.on('error', (error) => log.debug('TLS connection failed', { error }));
      const certificate = socket.getPeerX509Certificate();
      const problem = certificate ? problemOf(certificate, this.#authority) : 'none was sent';
      if (!certificate || problem !== undefined)
        this.#refuse(socket, problem ?? '', certificate && describe(certificate).commonName);
      else options.accept(socket, describe(certificate));
    });
    this.#server.on('tlsClientError', (error, socket) => {
      metrics.connects.inc({ result: 'handshake' });
      log.debug('TLS handshake failed', { error });
      socket.destroy();
    });
  }

  /** Resolves with the port really used. */
  async start(): Promise<number> {
    const port = await listen(this.#server, this.#options.host, this.#options.port);
    this.#server.on('error', (error) => this.#options.log.error('MQTT listener failed', { error }));
    return port;
  }

  /** Stops accepting and ends handshakes; resolves when the last connection is closed. */
  async stop(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = closeServer(this.#server);
    this.#handshakes.destroyAll();
    await closed;
  }

  setSecureContext(context: SecureContextOptions): void {
    this.#authority = authorityOf(context);
    this.#server.setSecureContext(contextOf(context));
  }

  #refuse(socket: TLSSocket, problem: string, claimed?: string): void {
    this.#options.metrics.connects.inc({ result: 'certificate' });
    const address = plainAddress(socket.remoteAddress ?? 'unknown');
    this.#options.log.warnLimited(
      `mqtt_certificate:${address}`,
      WARNING_INTERVAL_MS,
      'connection refused: certificate',
      {
        problem,
        claims_to_be: claimed === undefined ? undefined : this.#options.hooks.nameOf?.(claimed),
        remote_address: address,
      },
    );
    this.#options.hooks.onRefused?.({
      what: 'login',
      reason: 'certificate',
      claimed,
      remoteAddress: address,
    });
    socket.destroy();
  }
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
  // Node's name for the extended key usage.
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
