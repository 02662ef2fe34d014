/**
 * A certificate that the operator brings for HTTPS. Files are replaced one after the other, and their owner may be another
 * user: what cannot be used is no reason to stop serving, least of all devices, which do not see it.
 */
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { readPlainFile } from '../files/index.ts';
import { certificatesIn, isSignedBy, type KeyAndCertificate, parseKeyFile } from './model.ts';

export interface OperatorFiles {
  certificatePath: string;
  privateKeyPath: string;
}

interface OperatorOptions extends OperatorFiles {
  clock: Pick<Clock, 'wallMs' | 'isSet'>;
  log: Log;
  limits: Pick<Limits['tls'], 'operatorWarningMs'>;
  /** As it will be served. */
  contextOf: (pair: KeyAndCertificate) => SecureContextOptions;
}

/** A certificate problem that needs a person, in a sentence. */
export interface CertificateProblem {
  kind: 'unusable' | 'expiring';
  reason: string;
}

export class OperatorCertificate {
  readonly #options: OperatorOptions;
  #pair: KeyAndCertificate | undefined;
  #fault: string | undefined;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.read();
  }

  /** The last one that was usable. */
  get pair(): KeyAndCertificate | undefined {
    return this.#pair;
  }

  /** Reads the files again. */
  read(): void {
    const { log } = this.#options;
    try {
      this.#pair = this.#readPair();
      this.#fault = undefined;
    } catch (error) {
      this.#fault = messageOf(error);
      if (this.#pair)
        log.warn("the operator's certificate is not usable now, the one read before stays", { error });
      else
        log.error("the operator's certificate is not usable, HTTPS has one made here until it is", { error });
    }
  }

  /** Undefined when all is well. Dates count only once the clock was set. */
  problem(): CertificateProblem | undefined {
    const { certificatePath, clock, limits } = this.#options;
    if (this.#fault !== undefined) return { kind: 'unusable', reason: `${this.#fault}.` };
    if (!this.#pair || !clock.isSet()) return undefined;
    const chain = certificatesIn(this.#pair.certificatePem).map((pem) => new X509Certificate(pem));
    const startMs = Math.max(...chain.map((one) => one.validFromDate.getTime()));
    const endMs = Math.min(...chain.map((one) => one.validToDate.getTime()));
    if (startMs > clock.wallMs())
      return { kind: 'unusable', reason: `${certificatePath} is not valid before ${dayOf(startMs)}.` };
    const leftMs = endMs - clock.wallMs();
    if (leftMs > limits.operatorWarningMs) return undefined;
    return {
      kind: 'expiring',
      reason: `${certificatePath} ${leftMs > 0 ? 'expires' : 'expired'} on ${dayOf(endMs)}.`,
    };
  }

  #readPair(): KeyAndCertificate {
    const { certificatePath, privateKeyPath, contextOf } = this.#options;
    const [certificate = '', key = ''] = [certificatePath, privateKeyPath].map((path) => {
      try {
        return readPlainFile(path).toString('utf8');
      } catch (error) {
        throw new Error(`the operator's certificate cannot be read: ${messageOf(error)}`, { cause: error });
      }
    });
    const mistake = mistakeIn({ certificate, key }, this.#options);
    if (mistake !== undefined) throw new Error(mistake);
    const pair = parseKeyFile(certificate, key, certificatePath, privateKeyPath);
    // A certificate that OpenSSL does not take, such as one with a short key, would end the start of the server.
    createSecureContext(contextOf(pair));
    return pair;
  }
}

const dayOf = (atMs: EpochMs): string => new Date(atMs).toISOString().slice(0, 10);

/** Mistakes that people make with such files, which OpenSSL has no plain words for. */
function mistakeIn(
  { certificate, key }: { certificate: string; key: string },
  { certificatePath, privateKeyPath }: OperatorFiles,
): string | undefined {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(key))
    return `${privateKeyPath} is encrypted with a password; write it without one: openssl pkey -in ${privateKeyPath} -out NEW`;
  const isCertificate = certificate.includes('-----BEGIN CERTIFICATE-----');
  const isKey = key.includes(PRIVATE_KEY);
  if (
    !isCertificate &&
    !isKey &&
    certificate.includes(PRIVATE_KEY) &&
    key.includes('-----BEGIN CERTIFICATE-----')
  )
    return `${certificatePath} holds the key and ${privateKeyPath} the certificate: tls_certificate and tls_private_key are exchanged`;
  if (!isCertificate)
    return `${certificatePath} ${contentOf(certificate)}, and not a certificate in PEM form`;
  if (!isKey) return `${privateKeyPath} ${contentOf(key)}, and not a private key in PEM form`;
  return isInWrongOrder(certificate, key)
    ? `${certificatePath} has its certificates in the wrong order: that of the gateway comes first, then the one that signed it, then the one that signed that one`
    : undefined;
}

const PRIVATE_KEY = 'PRIVATE KEY-----';

const CONTENTS: readonly [mark: RegExp, words: string][] = [
  [/^\s*$/, 'is empty'],
  [/PRIVATE KEY-----/, 'holds a private key'],
  [/-----BEGIN (NEW )?CERTIFICATE REQUEST-----/, 'is a request for a certificate'],
  [/-----BEGIN CERTIFICATE-----/, 'holds a certificate'],
  [/-----BEGIN PUBLIC KEY-----/, 'holds a public key'],
  [
    /-----BEGIN (PKCS7|CMS)-----/,
    'is a PKCS #7 file (openssl pkcs7 -print_certs takes the certificates out)',
  ],
  // A sequence in DER, longer than 127 bytes.
  [/^0\ufffd/, 'is in binary form, as DER or PKCS #12 (openssl x509, pkey or pkcs12 -nodes make PEM of it)'],
];

function contentOf(text: string): string {
  return CONTENTS.find(([mark]) => mark.test(text))?.[1] ?? 'holds something else';
}

/** The key belongs to another certificate than the first, or one stands before a certificate that it signed. */
function isInWrongOrder(certificate: string, key: string): boolean {
  try {
    const chain = certificatesIn(certificate).map((pem) => new X509Certificate(pem));
    const privateKey = createPrivateKey(key);
    const own = chain.findIndex((one) => one.checkPrivateKey(privateKey));
    // Two authorities may have signed each other, and a root has signed itself: both say nothing of the order.
    const isLate = (one: X509Certificate, at: number): boolean =>
      !isSignedBy(one, one) &&
      chain.slice(0, at).some((before) => isSignedBy(one, before) && !isSignedBy(before, one));
    return own > 0 || chain.some(isLate);
  } catch {
    // The caller that needs the content reports what cannot be read.
    return false;
  }
}
