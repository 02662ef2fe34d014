/**
 * Making X.509 certificates (RFC 5280): EC P-256 keys, ECDSA with SHA-256, every extension that strict
 * verifiers ask for. Loaded only when one is made, because the library costs 24 MB of memory.
 */
import 'reflect-metadata';
import { createPrivateKey, KeyObject, webcrypto } from 'node:crypto';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  Extension,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import type { CertificateRequest, KeyAndCertificate } from './model.ts';
import { encodeNameConstraints, NAME_CONSTRAINTS_OID, permittedNames } from './name-constraints.ts';

const KEY_ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256' } as const;
const SIGNATURE = { name: 'ECDSA', hash: 'SHA-256' } as const;
const { subtle } = webcrypto;

/** A certificate of its own that may sign others, but no further authority; and only for local names and its own. */
export async function makeAuthority(
  request: Omit<CertificateRequest, 'purpose'>,
): Promise<KeyAndCertificate> {
  const keys = await newKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...commonFields(request),
    name: nameOf(request.commonName),
    keys,
    extensions: [
      new BasicConstraintsExtension(true, 0, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(keys.publicKey),
      ...(request.names
        ? [new Extension(NAME_CONSTRAINTS_OID, false, encodeNameConstraints(permittedNames(request.names)))]
        : []),
    ],
  });
  return pairOf(keys, certificate);
}

export async function makeCertificate(
  authority: KeyAndCertificate,
  request: CertificateRequest,
): Promise<KeyAndCertificate> {
  const keys = await newKeys();
  const issuer = new X509Certificate(authority.certificatePem);
  const { dns = [], ips = [] } = request.names ?? {};
  const alternatives = [
    ...dns.map((value) => ({ type: 'dns' as const, value })),
    ...ips.map((value) => ({ type: 'ip' as const, value })),
  ];
  const certificate = await X509CertificateGenerator.create({
    ...commonFields(request),
    subject: nameOf(request.commonName),
    issuer: issuer.subjectName,
    publicKey: keys.publicKey,
    signingKey: await signingKeyOf(authority.privateKeyPem),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([
        request.purpose === 'client' ? ExtendedKeyUsage.clientAuth : ExtendedKeyUsage.serverAuth,
      ]),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      await AuthorityKeyIdentifierExtension.create(issuer.publicKey),
      ...(alternatives.length > 0 ? [new SubjectAlternativeNameExtension(alternatives)] : []),
    ],
  });
  return pairOf(keys, certificate);
}

function commonFields({ serial, validFromMs, validToMs }: Omit<CertificateRequest, 'purpose'>) {
  return {
    serialNumber: serial,
    notBefore: new Date(validFromMs),
    notAfter: new Date(validToMs),
    signingAlgorithm: SIGNATURE,
  };
}

/** As fields, so that no character of the name is read as their syntax. */
function nameOf(commonName: string): JsonName {
  return [{ CN: [commonName] }];
}

function newKeys(): Promise<webcrypto.CryptoKeyPair> {
  return subtle.generateKey(KEY_ALGORITHM, true, ['sign', 'verify']);
}

function signingKeyOf(privateKeyPem: string): Promise<webcrypto.CryptoKey> {
  const bytes = createPrivateKey(privateKeyPem).export({ type: 'pkcs8', format: 'der' });
  return subtle.importKey('pkcs8', bytes, KEY_ALGORITHM, false, ['sign']);
}

function pairOf({ privateKey }: webcrypto.CryptoKeyPair, certificate: X509Certificate): KeyAndCertificate {
  return {
    privateKeyPem: KeyObject.from(privateKey).export({ type: 'pkcs8', format: 'pem' }),
    // With the final line end that files and other tools expect.
    certificatePem: `${certificate.toString('pem').trimEnd()}\n`,
  };
}
