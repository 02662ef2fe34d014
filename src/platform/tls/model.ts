/** Certificates as the rest of the gateway sees them, and when one must be made anew. */
import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { messageOf } from '../../lib/errors.ts';
import type { DurationMs, EpochMs } from '../../lib/time.ts';
import { makePrivateFolder, readPrivateFile, writePrivateFile } from '../files/index.ts';

/** Both PEM; the key is PKCS#8. */
export interface KeyAndCertificate {
  privateKeyPem: string;
  certificatePem: string;
}

/** Names of a server. */
export interface ServerNames {
  /** Names of the domain name system, `localhost` and `.local` names included. */
  dns: readonly string[];
  /** IPv4 and IPv6 addresses, without zone. */
  ips: readonly string[];
}

export interface CertificateRequest {
  /** At most 64 characters (RFC 5280 appendix A.1). */
  commonName: string;
  /** Hexadecimal, positive, at most 20 bytes. */
  serial: string;
  validFromMs: EpochMs;
  validToMs: EpochMs;
  purpose: 'client' | 'server';
  names?: ServerNames;
}

/** The certificate of a device, and the part of it that is kept. */
export interface ClientCertificate extends KeyAndCertificate {
  /** Lower-case hexadecimal. */
  serial: string;
  /** SHA-256 of the certificate, lower-case hexadecimal without colons. */
  fingerprint: string;
}

/**
 * From before this program existed to after everybody who installs it: a device or a gateway whose clock
 * was never set (1970 is answered by not judging dates, see `platform/mqtt`) or runs years ahead is not
 * locked out. What ends a certificate is revocation (docs/interface/mqtt-devices.md#credentials).
 */
export const LONG_VALIDITY = {
  validFromMs: Date.UTC(2020, 0, 1),
  validToMs: Date.UTC(2119, 11, 31),
} as const;

/** SHA-256 fingerprint of a certificate in PEM, in lower-case hex without colons. */
export function fingerprintOf(certificatePem: string): string {
  return new X509Certificate(certificatePem).fingerprint256.replaceAll(':', '').toLowerCase();
}

/** By name and by signature; true of a root and itself. */
export function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

/** Why a server certificate of ours must be made anew; undefined: it is fine. */
export function renewalReason(
  certificatePem: string,
  authority: X509Certificate,
  names: ServerNames,
  /** The certificate must not end before; undefined: the clock was never set, or dates do not matter. */
  until: { nowMs: EpochMs; renewalMs: DurationMs } | undefined,
): 'authority' | 'names' | 'dates' | undefined {
  const certificate = new X509Certificate(certificatePem);
  if (!isSignedBy(certificate, authority)) return 'authority';
  const isMissing =
    names.dns.some((name) => certificate.checkHost(name) === undefined) ||
    names.ips.some((address) => certificate.checkIP(address) === undefined);
  if (isMissing) return 'names';
  if (!until) return undefined;
  const { nowMs, renewalMs } = until;
  const isFresh =
    nowMs >= certificate.validFromDate.getTime() && nowMs < certificate.validToDate.getTime() - renewalMs;
  return isFresh ? undefined : 'dates';
}

/** Names that fit into a certificate, lower-case, each once. */
export function usableNames({ dns, ips }: ServerNames): ServerNames {
  const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?';
  const pattern = new RegExp(`^${label}(?:\\.${label})*$`);
  const unique = (values: readonly string[]): string[] => [
    ...new Set(values.map((value) => value.toLowerCase())),
  ];
  return {
    dns: unique(dns).filter((name) => pattern.test(name) && name.length <= 253),
    ips: unique(ips),
  };
}

// Keys with their certificates, each pair in one file, so that no crash can part them.

const KEY = /-----BEGIN (?:EC |RSA )?PRIVATE KEY-----[^-]+-----END (?:EC |RSA )?PRIVATE KEY-----\n?/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** The certificates of a file in its order; tools write lines about them in between (RFC 7468 section 2). */
export function certificatesIn(text: string): string[] {
  return text.match(CERTIFICATE) ?? [];
}

/** The folder of keys; only the user of the gateway may look into it. */
export function openKeyFolder(folder: string): void {
  makePrivateFolder(folder);
  chmodSync(folder, 0o700);
}

export function writeKeyFile(path: string, { privateKeyPem, certificatePem }: KeyAndCertificate): void {
  writePrivateFile(path, certificatePem + privateKeyPem);
}

/** Undefined when there is no such file. @throws Error when there is one that cannot be used */
export function readKeyFile(path: string): KeyAndCertificate | undefined {
  const text = readPrivateFile(path);
  return text === undefined ? undefined : parseKeyFile(text, text, path);
}

/** @throws Error naming the file, when the texts hold no key and certificate that belong together */
export function parseKeyFile(
  certificateText: string,
  keyText: string,
  path: string,
  keyPath = path,
): KeyAndCertificate {
  const certificates = certificatesIn(certificateText);
  const certificatePem = certificates.map((pem) => `${pem}\n`).join('');
  const privateKeyPem = KEY.exec(keyText)?.[0];
  if (certificates.length === 0) throw new Error(`${path} has no certificate in PEM form`);
  if (privateKeyPem === undefined)
    throw new Error(`${keyPath} has no private key in PEM form without a password`);
  try {
    if (isPair(new X509Certificate(certificatePem), createPrivateKey(privateKeyPem)))
      return { certificatePem, privateKeyPem };
  } catch (error) {
    throw new Error(`${path} cannot be read: ${messageOf(error)}`, { cause: error });
  }
  const whose = keyPath === path ? '' : ` of ${keyPath}`;
  throw new Error(`${path}: the private key${whose} does not belong to the certificate`);
}

/** A file of a private key holds the public one too, which may be sound where the other has a bit that turned. */
function isPair(certificate: X509Certificate, key: KeyObject): boolean {
  const proof = Buffer.from('signed to be verified');
  return (
    certificate.checkPrivateKey(key) && verify(null, proof, certificate.publicKey, sign(null, proof, key))
  );
}
