/**
 * The gateway's own certificate authority and what it signs.
 *
 *   authority.pem ─┬─▶ devices.pem   MQTT over TLS: long validity, because devices may have a wrong clock
 *                  ├─▶ web.pem       HTTPS: short validity, because browsers ask for it; renewed in time
 *                  └─▶ client certificates, given away at once, never kept
 *
 * An operator's own certificate replaces `web.pem` only: devices trust our authority and nothing else.
 */
import type { SecureContextOptions } from 'node:tls';
import type { Timer } from '../clock/index.ts';
import { Authority, type AuthorityOptions } from './authority.ts';
import type { ClientCertificate, KeyAndCertificate } from './model.ts';
import { type CertificateProblem, OperatorCertificate, type OperatorFiles } from './operator-certificate.ts';

/** Options of `Tls`. */
export interface TlsOptions extends AuthorityOptions {
  /** Files of a certificate (with its chain) and key that the operator brings for HTTPS; read again when changed. */
  operatorCertificate?: OperatorFiles | undefined;
}

/**
 * Ciphers that authenticate what they encrypt (AEAD), with keys that are forgotten; every client of the last ten years has
 * one of them. The order is ours.
 */
const PROTOCOL: SecureContextOptions = {
  minVersion: 'TLSv1.2',
  ciphers: [
    'TLS_AES_128_GCM_SHA256',
    'TLS_AES_256_GCM_SHA384',
    'TLS_CHACHA20_POLY1305_SHA256',
    'ECDHE-ECDSA-AES128-GCM-SHA256',
    'ECDHE-RSA-AES128-GCM-SHA256',
    'ECDHE-ECDSA-AES256-GCM-SHA384',
    'ECDHE-RSA-AES256-GCM-SHA384',
    'ECDHE-ECDSA-CHACHA20-POLY1305',
    'ECDHE-RSA-CHACHA20-POLY1305',
  ].join(':'),
  honorCipherOrder: true,
};

/** The certificates in use; they are renewed while the gateway runs. */
export class Tls {
  readonly #options: TlsOptions;
  readonly #authority: Authority;
  readonly #listeners = new Set<() => void>();
  #web: KeyAndCertificate;
  #devices: KeyAndCertificate;
  readonly #operator: OperatorCertificate | undefined;
  #timer: Timer | undefined;
  #stopListening: (() => void) | undefined;
  #checking: Promise<void> | undefined;

  /**
   * Reads the keys, or makes them at the first start.
   * @throws Error when neither the authority nor its copy is usable: with a new one no device could connect any more.
   */
  static async open(options: TlsOptions): Promise<Tls> {
    const authority = await Authority.open(options);
    const web = await authority.serverCertificate('web');
    return new Tls(options, authority, web, await authority.serverCertificate('devices'));
  }

  private constructor(
    options: TlsOptions,
    authority: Authority,
    web: KeyAndCertificate,
    devices: KeyAndCertificate,
  ) {
    this.#options = options;
    this.#authority = authority;
    this.#web = web;
    this.#devices = devices;
    this.#operator =
      options.operatorCertificate &&
      new OperatorCertificate({ ...options, ...options.operatorCertificate, contextOf });
  }

  /** Certificate of our authority, PEM: the only one that devices trust. */
  get caPem(): string {
    return this.#authority.certificatePem;
  }

  /** For HTTPS. */
  serverContext(): SecureContextOptions {
    return contextOf(this.#operator?.pair ?? this.#web);
  }

  /** The fault of the operator's certificate; undefined without one, and when it is fine. */
  operatorProblem(): CertificateProblem | undefined {
    return this.#operator?.problem();
  }

  /** For MQTT over TLS; client certificates are of our authority. */
  deviceContext(): SecureContextOptions {
    return { ...contextOf(this.#devices), ca: this.caPem };
  }

  /** Calls `listener` after another certificate is to be used; returns the unsubscribe. */
  onRenewed(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** A fresh key and certificate for a device; nothing of it is kept here. */
  issueClientCertificate(hardwareId: string): Promise<ClientCertificate> {
    return this.#authority.clientCertificate(hardwareId);
  }

  /** Renews what is due, now; also every while after `start` and when the clock jumps. */
  check(): Promise<void> {
    this.#checking ??= this.#renew()
      .catch((error: unknown) => this.#options.log.error('certificates could not be renewed', { error }))
      .finally(() => (this.#checking = undefined));
    return this.#checking;
  }

  start(): void {
    const { clock, limits } = this.#options;
    this.#timer = clock.setRepeating(limits.checkIntervalMs, () => void this.check());
    this.#stopListening = clock.onStepped(() => void this.check());
  }

  stop(): void {
    this.#timer?.cancel();
    this.#stopListening?.();
    this.#authority.putBack();
  }

  async #renew(): Promise<void> {
    const inUse = () => [this.#web, this.#devices, this.#operator?.pair].map((pair) => pair?.certificatePem);
    const before = inUse();
    this.#web = await this.#authority.serverCertificate('web');
    this.#devices = await this.#authority.serverCertificate('devices');
    this.#operator?.read();
    const after = inUse();
    if (after.some((pem, index) => pem !== before[index])) for (const listener of this.#listeners) listener();
  }
}

function contextOf({ privateKeyPem, certificatePem }: KeyAndCertificate): SecureContextOptions {
  return { key: privateKeyPem, cert: certificatePem, ...PROTOCOL };
}
