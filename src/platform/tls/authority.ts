/** The authority's own key and certificate, and what it signs. */
import { randomBytes as systemRandomBytes, X509Certificate } from 'node:crypto';
import { existsSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../lib/errors.ts';
import type { Limits } from '../../lib/limits.ts';
import { isRefusal } from '../../lib/system-fault.ts';
import type { EpochMs } from '../../lib/time.ts';
import { type Clock, CLOCK_PLAUSIBLE_FROM_MS } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import {
  type ClientCertificate,
  fingerprintOf,
  type KeyAndCertificate,
  LONG_VALIDITY,
  openKeyFolder,
  readKeyFile,
  renewalReason,
  type ServerNames,
  usableNames,
  writeKeyFile,
} from './model.ts';
import { constraintsOf, dividedNames, type PermittedNames } from './name-constraints.ts';

export interface AuthorityOptions {
  /** Folder of the keys; made with mode 0700. */
  folder: string;
  /** Where the authority is kept once more: it comes back from there when its own file is gone or damaged. */
  authorityCopy?: string;
  clock: Clock;
  log: Log;
  limits: Limits['tls'];
  /** Present names of this gateway for its clients; read again every while. */
  names: () => ServerNames;
  randomBytes?: (sizeBytes: number) => Buffer;
}

const SERIAL_BYTES = 16;
const COMMON_NAME_LENGTH = 64;
const HARDWARE_ID = /^[A-Za-z0-9]{8,64}$/;

export class Authority {
  readonly #options: AuthorityOptions;
  readonly #pair: KeyAndCertificate;
  readonly #certificate: X509Certificate;
  readonly #constraints: PermittedNames | undefined;
  /** The last pair of each kind, which serves on while the disk refuses its file. */
  readonly #served = new Map<'web' | 'devices', KeyAndCertificate>();

  /**
   * @throws Error when neither its file nor its copy is usable and one of them is there: with another authority no device
   * could connect any more.
   */
  static async open(options: AuthorityOptions): Promise<Authority> {
    openKeyFolder(options.folder);
    const pair = keptPair(options) ?? (await makePair(options));
    keepCopy(options, pair);
    return new Authority(options, pair);
  }

  private constructor(options: AuthorityOptions, pair: KeyAndCertificate) {
    this.#options = options;
    this.#pair = pair;
    this.#certificate = new X509Certificate(pair.certificatePem);
    this.#constraints = constraintsOf(this.#certificate);
  }

  get certificatePem(): string {
    return this.#pair.certificatePem;
  }

  /** Devices trust no other authority: a removed file is written again. */
  putBack(): void {
    const path = pathOf(this.#options, 'authority');
    try {
      if (existsSync(path)) return;
      openKeyFolder(this.#options.folder);
      writeKeyFile(path, this.#pair);
      this.#options.log.error('the file of the certificate authority was removed, and is put back', { path });
    } catch (error) {
      this.#options.log.error('the file of the certificate authority could not be put back', { path, error });
    }
  }

  /** The certificate that is there, if it still fits, else a new one. */
  async serverCertificate(kind: 'web' | 'devices'): Promise<KeyAndCertificate> {
    const { clock, log, limits } = this.#options;
    const path = pathOf(this.#options, kind);
    const names = this.#namesNow();
    const isJudged = kind === 'web' && clock.isSet();
    const until = isJudged ? { nowMs: clock.wallMs(), renewalMs: limits.webRenewalMs } : undefined;
    const { isRefused, present = isRefused ? this.#served.get(kind) : undefined } = readUsable(path, log);
    const reason = present && renewalReason(present.certificatePem, this.#certificate, names, until);
    if (present && !reason) {
      this.#served.set(kind, present);
      return present;
    }
    const { makeCertificate } = await import('./certificates.ts');
    const made = await makeCertificate(this.#pair, {
      commonName: names.dns.find((name) => name.length <= COMMON_NAME_LENGTH) ?? 'energy-gateway',
      serial: newSerial(this.#options),
      purpose: 'server',
      names,
      ...(kind === 'web' ? webValidity(clock, limits) : LONG_VALIDITY),
    });
    try {
      // A file whose reading is refused may be sound.
      if (!isRefused) writeKeyFile(path, made);
    } catch (error) {
      // It serves; the next check makes another one.
      log.warnLimited(path, 86_400_000, 'the server certificate cannot be kept', { path, error });
    }
    this.#served.set(kind, made);
    log.info('server certificate was made', {
      kind,
      reason: reason ?? 'none',
      names: names.dns,
      addresses: names.ips,
    });
    return made;
  }

  /** A fresh key and certificate of a device; nothing of it is kept here. */
  async clientCertificate(hardwareId: string): Promise<ClientCertificate> {
    if (!HARDWARE_ID.test(hardwareId)) throw new Error('a hardware id is 8 to 64 letters or digits');
    const { makeCertificate } = await import('./certificates.ts');
    const serial = newSerial(this.#options);
    const made = await makeCertificate(this.#pair, {
      commonName: hardwareId,
      serial,
      purpose: 'client',
      ...LONG_VALIDITY,
    });
    return { ...made, serial, fingerprint: fingerprintOf(made.certificatePem) };
  }

  /** One name too many would make verifiers refuse the whole certificate. */
  #namesNow(): ServerNames {
    const { permitted, refused } = dividedNames(usableNames(this.#options.names()), this.#constraints);
    if (refused.length > 0)
      this.#options.log.warnLimited(
        'tls-names',
        86_400_000,
        'the certificate authority may not speak for some names of this gateway, use another one over TLS',
        { names: refused },
      );
    return permitted;
  }
}

function pathOf({ folder }: AuthorityOptions, name: string): string {
  return join(folder, `${name}.pem`);
}

/** A file of the authority: what it holds, or why that is of no use; neither when there is none. */
interface Found {
  pair?: KeyAndCertificate | undefined;
  /** Signed with its own key, as every authority that is made here: no bit of it is another one. */
  isProven?: boolean;
  fault?: string;
  cause?: unknown;
}

function look(path: string): Found {
  try {
    const pair = readKeyFile(path);
    if (!pair) return {};
    const certificate = new X509Certificate(pair.certificatePem);
    const isOwn = certificate.checkIssued(certificate);
    if (isOwn && !certificate.verify(certificate.publicKey))
      throw new Error(`${path}: the signature of the certificate is wrong`);
    return { pair, isProven: isOwn };
  } catch (error) {
    return { fault: messageOf(error), cause: error };
  }
}

/** Devices hold certificates of it, so it is never made anew beside a file of it. @throws as `Authority.open` */
function keptPair(options: AuthorityOptions): KeyAndCertificate | undefined {
  const { authorityCopy } = options;
  const path = pathOf(options, 'authority');
  const own = look(path);
  const copy = authorityCopy === undefined ? {} : look(authorityCopy);
  const fault = own.fault ?? nameFault(own, copy, path);
  if (own.pair && fault === undefined) return own.pair;
  if (copy.pair) {
    // A file that the disk refuses now may be intact; it is neither damaged nor to be replaced.
    if (!isRefusal(own.cause)) restoreFromCopy(options, copy.pair, fault);
    else
      options.log.warn('certificate authority cannot be read now, its copy serves', {
        path,
        error: own.cause,
      });
    return copy.pair;
  }
  if (fault === undefined && copy.fault === undefined) return undefined;
  const faults = [fault ?? 'the file of the authority is missing', copy.fault ?? 'there is no copy of it'];
  throw new Error(faults.join('; '), { cause: own.cause ?? copy.cause });
}

/** One of another issuer may be what a person put there; with the same key as its copy it is damage of a name. */
function nameFault({ pair, isProven }: Found, copy: Found, path: string): string | undefined {
  const isTwin = copy.isProven === true && copy.pair?.privateKeyPem === pair?.privateKeyPem;
  return pair && isProven === false && isTwin
    ? `${path}: the certificate has another issuer than its copy`
    : undefined;
}

/** Its copy serves in any case; a damaged file is set aside, and a disk that refuses gets the copy at another start. */
function restoreFromCopy(
  options: AuthorityOptions,
  pair: KeyAndCertificate,
  fault: string | undefined,
): void {
  const { authorityCopy, log } = options;
  const path = pathOf(options, 'authority');
  const reason = fault ?? 'it was missing';
  log.error('certificate authority came back from its copy', { path, copy: authorityCopy, reason });
  try {
    if (fault !== undefined) renameSync(path, `${path}.damaged`);
    writeKeyFile(path, pair);
  } catch (error) {
    log.warn('certificate authority could not be written back', { path, error });
  }
}

function keepCopy({ authorityCopy, log }: AuthorityOptions, pair: KeyAndCertificate): void {
  if (authorityCopy === undefined) return;
  try {
    const copy = look(authorityCopy);
    if (isRefusal(copy.cause)) throw copy.cause;
    if (copy.fault !== undefined)
      log.warn('copy of the certificate authority was damaged and is made anew', { fault: copy.fault });
    if (copy.pair?.certificatePem !== pair.certificatePem) writeKeyFile(authorityCopy, pair);
  } catch (error) {
    log.warn('certificate authority could not be copied', { copy: authorityCopy, error });
  }
}

async function makePair(options: AuthorityOptions): Promise<KeyAndCertificate> {
  const { randomBytes: random = systemRandomBytes } = options;
  const { makeAuthority } = await import('./certificates.ts');
  const commonName = `Energy Gateway CA ${random(4).toString('hex')}`;
  const made = await makeAuthority({
    commonName,
    serial: newSerial(options),
    names: usableNames(options.names()),
    ...LONG_VALIDITY,
  });
  writeKeyFile(pathOf(options, 'authority'), made);
  options.log.info('certificate authority was made', { name: commonName });
  return made;
}

/** A server certificate that is damaged is no loss: another one is made. One that is refused stays what it is. */
function readUsable(path: string, log: Log): { present?: KeyAndCertificate | undefined; isRefused: boolean } {
  try {
    return { present: readKeyFile(path), isRefused: false };
  } catch (error) {
    const isRefused = isRefusal(error);
    if (isRefused)
      log.warnLimited(path, 86_400_000, 'server certificate cannot be read now, its file is kept', {
        path,
        error,
      });
    else log.warn('server certificate is not usable, another one is made', { path, error });
    return { isRefused };
  }
}

/** From now, or from the first day that can be, when the clock was never set. */
function webValidity(
  clock: Clock,
  { webBackdatingMs, webValidityMs }: Limits['tls'],
): { validFromMs: EpochMs; validToMs: EpochMs } {
  const nowMs = clock.isSet() ? clock.wallMs() : CLOCK_PLAUSIBLE_FROM_MS;
  const validFromMs = nowMs - webBackdatingMs;
  return { validFromMs, validToMs: validFromMs + webValidityMs };
}

/** Positive and of full length: the highest bit is off, the next one on (RFC 5280 section 4.1.2.2). */
function newSerial({ randomBytes: random = systemRandomBytes }: AuthorityOptions): string {
  const bytes = random(SERIAL_BYTES);
  bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
  return bytes.toString('hex');
}
