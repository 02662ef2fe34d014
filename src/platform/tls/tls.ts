/**
 * The gateway's own certificate authority and what it signs.
 *
 *   authority.pem ─┬─▶ devices.pem   MQTT over TLS: long validity, because devices may have a wrong clock
 *                  ├─▶ web.pem       HTTPS: short validity, because browsers ask for it; renewed in time
 *                  └─▶ client certificates, given away at once, never kept
 *
 * An operator's own certificate replaces `web.pem` only: devices trust our authority and nothing else.
 */
import { randomBytes as systemRandomBytes, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SecureContextOptions } from 'node:tls';
import { messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { type Clock, CLOCK_PLAUSIBLE_FROM_MS, type Timer } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import { openKeyFolder, parseKeyFile, readKeyFile, writeKeyFile } from './key-files.ts';
import {
  type ClientCertificate,
  fingerprintOf,
  type KeyAndCertificate,
  LONG_VALIDITY,
  renewalReason,
  type ServerNames,
  usableNames,
} from './model.ts';
import { constraintsOf, dividedNames } from './name-constraints.ts';

export interface TlsOptions {
  /** Folder of the keys; made with mode 0700. */
  folder: string;
  /** Where the authority is kept once more: it comes back from there when its own file is gone. */
  authorityCopy?: string;
  clock: Clock;
  log: Log;
  limits: Limits['tls'];
  /** What clients call this gateway by now; asked again every while. */
  names: () => ServerNames;
  /** Files of a certificate (with its chain) and key that the operator brings for HTTPS; read again when changed. */
  operatorCertificate?: { certificatePath: string; privateKeyPath: string } | undefined;
  randomBytes?: (sizeBytes: number) => Buffer;
}

export interface Tls {
  /** Certificate of our authority, PEM: the only one that devices trust. */
  readonly caPem: string;
  /** For HTTPS. */
  serverContext(): SecureContextOptions;
  /** For MQTT over TLS; client certificates are of our authority. */
  deviceContext(): SecureContextOptions;
  /** Calls `listener` after another certificate is to be used; returns the unsubscribe. */
  onRenewed(listener: () => void): () => void;
  /** A fresh key and certificate for a device; nothing of it is kept here. */
  issueClientCertificate(hardwareId: string): Promise<ClientCertificate>;
  /** Renews what is due, now; also every while after `start` and when the clock jumps. */
  check(): Promise<void>;
  start(): void;
  stop(): void;
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

const SERIAL_BYTES = 16;
const COMMON_NAME_LENGTH = 64;
const HARDWARE_ID = /^[A-Za-z0-9]{8,64}$/;

/**
 * Reads the keys, or makes them at the first start.
 * @throws Error when a file is there and not usable: with a new authority no device could connect any more.
 */
export async function createTls(options: TlsOptions): Promise<Tls> {
  const { folder, clock, log, limits } = options;
  const random = options.randomBytes ?? systemRandomBytes;
  const path = (name: string): string => join(folder, `${name}.pem`);
  openKeyFolder(folder);
  const authority = readKeyFile(path('authority')) ?? authorityOfCopy() ?? (await makeAuthority());
  keepAuthority();
  const authorityCertificate = new X509Certificate(authority.certificatePem);
  const constraints = constraintsOf(authorityCertificate);
  const listeners = new Set<() => void>();
  let web = await ownCertificate('web');
  let devices = await ownCertificate('devices');
  let operator = options.operatorCertificate && readOperator(options.operatorCertificate);
  let timer: Timer | undefined;
  let stopListening: (() => void) | undefined;
  let checking: Promise<void> | undefined;

  /** Devices hold certificates of it; another one would lock them all out. */
  function authorityOfCopy(): KeyAndCertificate | undefined {
    const kept = options.authorityCopy === undefined ? undefined : readUsable(options.authorityCopy, log);
    if (!kept) return undefined;
    writeKeyFile(path('authority'), kept);
    log.error('certificate authority was missing and came back from its copy', {
      copy: options.authorityCopy,
    });
    return kept;
  }

  function keepAuthority(): void {
    const { authorityCopy } = options;
    if (authorityCopy === undefined) return;
    try {
      if (readUsable(authorityCopy, log)?.certificatePem !== authority.certificatePem)
        writeKeyFile(authorityCopy, authority);
    } catch (error) {
      log.warn('certificate authority could not be copied', { copy: authorityCopy, error });
    }
  }

  async function makeAuthority(): Promise<KeyAndCertificate> {
    const { makeAuthority: make } = await import('./certificates.ts');
    const commonName = `Energy Gateway CA ${random(4).toString('hex')}`;
    const made = await make({
      commonName,
      serial: newSerial(random),
      names: usableNames(options.names()),
      ...LONG_VALIDITY,
    });
    writeKeyFile(path('authority'), made);
    log.info('certificate authority was made', { name: commonName });
    return made;
  }

  /** One name too many would make verifiers refuse the whole certificate. */
  function namesNow(): ServerNames {
    const { permitted, refused } = dividedNames(usableNames(options.names()), constraints);
    if (refused.length > 0)
      log.warnLimited(
        'tls-names',
        86_400_000,
        'the certificate authority may not speak for some names of this gateway, use another one over TLS',
        { names: refused },
      );
    return permitted;
  }

  /** The certificate that is there, if it still fits, else a new one. */
  async function ownCertificate(kind: 'web' | 'devices'): Promise<KeyAndCertificate> {
    const names = namesNow();
    const isJudged = kind === 'web' && clock.isSet();
    const until = isJudged ? { nowMs: clock.wallMs(), renewalMs: limits.webRenewalMs } : undefined;
    const present = readUsable(path(kind), log);
    const reason = present && renewalReason(present.certificatePem, authorityCertificate, names, until);
    if (present && !reason) return present;
    const { makeCertificate } = await import('./certificates.ts');
    const made = await makeCertificate(authority, {
      commonName: names.dns.find((name) => name.length <= COMMON_NAME_LENGTH) ?? 'energy-gateway',
      serial: newSerial(random),
      purpose: 'server',
      names,
      ...(kind === 'web' ? webValidity(clock, limits) : LONG_VALIDITY),
    });
    writeKeyFile(path(kind), made);
    log.info('server certificate was made', {
      kind,
      reason: reason ?? 'none',
      names: names.dns,
      addresses: names.ips,
    });
    return made;
  }

  async function renew(): Promise<void> {
    const before = [web, devices, operator].map((pair) => pair?.certificatePem);
    web = await ownCertificate('web');
    devices = await ownCertificate('devices');
    if (options.operatorCertificate) operator = rereadOperator(options.operatorCertificate, operator, log);
    const after = [web, devices, operator].map((pair) => pair?.certificatePem);
    if (after.some((pem, index) => pem !== before[index])) for (const listener of listeners) listener();
  }

  function check(): Promise<void> {
    checking ??= renew()
      .catch((error: unknown) => log.error('certificates could not be renewed', { error }))
      .finally(() => (checking = undefined));
    return checking;
  }

  return {
    caPem: authority.certificatePem,
    serverContext: () => contextOf(operator ?? web),
    deviceContext: () => ({ ...contextOf(devices), ca: authority.certificatePem }),
    onRenewed: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    issueClientCertificate: async (hardwareId) => {
      if (!HARDWARE_ID.test(hardwareId)) throw new Error('a hardware id is 8 to 64 letters or digits');
      const { makeCertificate } = await import('./certificates.ts');
      const serial = newSerial(random);
      const made = await makeCertificate(authority, {
        commonName: hardwareId,
        serial,
        purpose: 'client',
        ...LONG_VALIDITY,
      });
      return { ...made, serial, fingerprint: fingerprintOf(made.certificatePem) };
    },
    check,
    start: () => {
      timer = clock.setRepeating(limits.checkIntervalMs, () => void check());
      stopListening = clock.onStepped(() => void check());
    },
    stop: () => {
      timer?.cancel();
      stopListening?.();
    },
  };
}

/** A server certificate that is damaged is no loss: another one is made. */
function readUsable(path: string, log: Log): KeyAndCertificate | undefined {
  try {
    return readKeyFile(path);
  } catch (error) {
    log.warn('server certificate is not usable, another one is made', { path, error });
    return undefined;
  }
}

function readOperator(files: { certificatePath: string; privateKeyPath: string }): KeyAndCertificate {
  const [certificate, key] = [files.certificatePath, files.privateKeyPath].map((path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      throw new Error(`the operator's certificate cannot be read: ${messageOf(error)}`, { cause: error });
    }
  });
  return parseKeyFile(certificate ?? '', key ?? '', files.certificatePath);
}

/** Files are replaced one after the other: what does not fit together is no reason to stop serving. */
function rereadOperator(
  files: { certificatePath: string; privateKeyPath: string },
  present: KeyAndCertificate | undefined,
  log: Log,
): KeyAndCertificate | undefined {
  try {
    return readOperator(files);
  } catch (error) {
    log.warn("the operator's certificate is not usable now, the one read before stays", { error });
    return present;
  }
}

/** From now, or from the first day that can be, when the clock was never set. */
function webValidity(
  clock: Clock,
  { webBackdatingMs, webValidityMs }: Limits['tls'],
): { validFromMs: number; validToMs: number } {
  const nowMs = clock.isSet() ? clock.wallMs() : CLOCK_PLAUSIBLE_FROM_MS;
  const validFromMs = nowMs - webBackdatingMs;
  return { validFromMs, validToMs: validFromMs + webValidityMs };
}

function contextOf({ privateKeyPem, certificatePem }: KeyAndCertificate): SecureContextOptions {
  return { key: privateKeyPem, cert: certificatePem, ...PROTOCOL };
}

/** Positive and of full length: the highest bit is off, the next one on (RFC 5280 section 4.1.2.2). */
function newSerial(random: (sizeBytes: number) => Buffer): string {
  const bytes = random(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}
