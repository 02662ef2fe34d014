/** Keys with their certificates, each pair in one file, so that no crash can part them. */
import { createPrivateKey, type KeyObject, sign, verify, X509Certificate } from 'node:crypto';
import { chmodSync } from 'node:fs';
import { messageOf } from '../../lib/errors.ts';
import { makePrivateFolder, readPrivateFile, writePrivateFile } from '../files/index.ts';
import type { KeyAndCertificate } from './model.ts';

const KEY = /-----BEGIN (?:EC |RSA )?PRIVATE KEY-----[^-]+-----END (?:EC |RSA )?PRIVATE KEY-----\n?/;
/** A chain as it stands in a file. */
export const CERTIFICATES = /(?:-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\s*)+/;

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
  const certificatePem = CERTIFICATES.exec(certificateText)?.[0];
  const privateKeyPem = KEY.exec(keyText)?.[0];
  if (certificatePem === undefined) throw new Error(`${path} has no certificate in PEM form`);
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
