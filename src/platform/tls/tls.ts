/**
 * The gateway's own certificate authority and what it signs.
 *
 *   authority.pem ─┬─▶ devices.pem   MQTT over TLS: long validity, because devices may have a wrong clock
 *                  ├─▶ web.pem       HTTPS: short validity, because browsers ask for it; renewed in time
 *                  └─▶ client certificates, given away at once, never kept
 *
 * An operator's own certificate replaces `web.pem` only: devices trust our authority and nothing else.
 */
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { messageOf } from '../../lib/errors.ts';
import type { Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { Authority, type AuthorityOptions } from './authority.ts';
import { readPlainFile } from '../files/index.ts';
import { parseKeyFile } from './key-files.ts';
import type { ClientCertificate, KeyAndCertificate } from './model.ts';

/** Options of `Tls`. */
export interface TlsOptions extends AuthorityOptions {
  /** Files of a certificate (with its chain) and key that the operator brings for HTTPS; read again when changed. */
  operatorCertificate?: { certificatePath: string; privateKeyPath: string } | undefined;
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
  #operator: KeyAndCertificate | undefined;
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
    const { operatorCertificate, log } = options;
    this.#operator = operatorCertificate && rereadOperator(operatorCertificate, undefined, log);
  }

  /** Certificate of our authority, PEM: the only one that devices trust. */
  get caPem(): string {
    return this.#authority.certificatePem;
  }

  /** For HTTPS. */
  serverContext(): SecureContextOptions {
    return contextOf(this.#operator ?? this.#web);
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
    const { operatorCertificate, log } = this.#options;
    const before = [this.#web, this.#devices, this.#operator].map((pair) => pair?.certificatePem);
    this.#web = await this.#authority.serverCertificate('web');
    this.#devices = await this.#authority.serverCertificate('devices');
    if (operatorCertificate) this.#operator = rereadOperator(operatorCertificate, this.#operator, log);
    const after = [this.#web, this.#devices, this.#operator].map((pair) => pair?.certificatePem);
    if (after.some((pem, index) => pem !== before[index])) for (const listener of this.#listeners) listener();
  }
}

function readOperator(files: { certificatePath: string; privateKeyPath: string }): KeyAndCertificate {
  const [certificate, key] = [files.certificatePath, files.privateKeyPath].map((path) => {
    try {
      return readPlainFile(path).toString('utf8');
    } catch (error) {
      throw new Error(`the operator's certificate cannot be read: ${messageOf(error)}`, { cause: error });
    }
  });
  const pair = parseKeyFile(certificate ?? '', key ?? '', files.certificatePath);
  // What OpenSSL does not take, such as a short key, would end the start of the server.
  createSecureContext(contextOf(pair));
  return pair;
}

/**
 * Files are replaced one after the other, and their owner may be another user: what cannot be used is no reason to stop
 * serving, least of all devices, which do not see it.
 */
function rereadOperator(
  files: { certificatePath: string; privateKeyPath: string },
  present: KeyAndCertificate | undefined,
  log: Log,
): KeyAndCertificate | undefined {
  try {
    return readOperator(files);
  } catch (error) {
    if (present)
      log.warn("the operator's certificate is not usable now, the one read before stays", { error });
    else
      log.error("the operator's certificate is not usable, HTTPS has one made here until it is", { error });
    return present;
  }
}

function contextOf({ privateKeyPem, certificatePem }: KeyAndCertificate): SecureContextOptions {
  return { key: privateKeyPem, cert: certificatePem, ...PROTOCOL };
}
