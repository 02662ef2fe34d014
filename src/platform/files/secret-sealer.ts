/** Secrets of other people's servers in state.db, readable only with a key that lies outside of the data folder. */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { join, resolve } from 'node:path';
import { messageOf, unavailable } from '../../lib/errors.ts';
import { readPrivateFile, removeFile, writePrivateFile } from './private-files.ts';

/** Keys that a backup brought along; in the data folder until the next start has taken them over. */
export const RESTORED_KEYS_FILE = 'secrets.key';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const SEALED = /^sealed:([0-9a-f]{8}):([A-Za-z0-9+/=]+)$/;

const WARNING_INTERVAL_MS = 3_600_000;

/** The part of the service log that is used. */
interface SecretLog {
  warnLimited: (about: string, intervalMs: number, message: string, fields: Record<string, unknown>) => void;
}

interface SecretSealerOptions {
  /** Path of the file with the keys. */
  path: string;
  dataDir: string;
  log: SecretLog;
  /** Default: chance of the system. */
  random?: (sizeBytes: number) => Buffer;
}

const isEmpty = (value: unknown): boolean =>
  value === null || (typeof value === 'object' && Object.keys(value ?? {}).length === 0);

const nameOf = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 8);

/**
 * Seals with the first key of its file and opens with each of them: a restored backup brings the one of its box along. The
 * file is made with the first secret.
 */
export class SecretSealer {
  readonly #path: string;
  readonly #log: SecretLog;
  readonly #random: (sizeBytes: number) => Buffer;
  #keys: readonly Buffer[];

  constructor({ path, dataDir, log, random = randomBytes }: SecretSealerOptions) {
    this.#path = path;
    this.#log = log;
    this.#random = random;
    this.#keys = keysIn(path);
    const restored = join(dataDir, RESTORED_KEYS_FILE);
    const added = keysIn(restored).filter((key) => !this.#keys.some((known) => known.equals(key)));
    if (added.length > 0) this.#write([...this.#keys, ...added]);
    removeFile(restored);
  }

  /** Seals a value; an empty one stays as it is. @throws GatewayError `unavailable` while the key cannot be written */
  seal<Value>(value: Value): Value | string {
    if (isEmpty(value)) return value;
    const [key = this.#make()] = this.#keys;
    const nonce = this.#random(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, key, nonce);
    const text = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
    const bytes = Buffer.concat([nonce, cipher.getAuthTag(), text]);
    return `sealed:${nameOf(key)}:${bytes.toString('base64')}`;
  }

  /** Undefined when its key is not here, or it was changed. What was stored before there were keys is given back as it is. */
  open<Value>(stored: Value | string): Value | undefined {
    const [, name, text = ''] = (typeof stored === 'string' && SEALED.exec(stored)) || [];
    if (name === undefined) return stored as Value;
    const key = this.#keys.find((known) => nameOf(known) === name);
    if (!key) return this.#missing(name);
    const bytes = Buffer.from(text, 'base64');
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(0, NONCE_BYTES));
    try {
      decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
      const parts = [decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()];
      return JSON.parse(Buffer.concat(parts).toString('utf8')) as Value;
    } catch {
      return this.#missing(name);
    }
  }

  /** Whether it was stored before there were keys. */
  isClear(stored: unknown): boolean {
    return !isEmpty(stored) && !(typeof stored === 'string' && SEALED.test(stored));
  }

  #missing(name: string): undefined {
    this.#log.warnLimited(
      `secret ${name}`,
      WARNING_INTERVAL_MS,
      'a stored secret cannot be opened; enter it again',
      {
        key: name,
        path: this.#path,
      },
    );
  }

  #make(): Buffer {
    const key = this.#random(KEY_BYTES);
    this.#write([key]);
    return key;
  }

  #write(keys: readonly Buffer[]): void {
    try {
      writePrivateFile(this.#path, keys.map((key) => `${key.toString('base64')}\n`).join(''));
    } catch (cause) {
      throw unavailable(`The key of stored secrets cannot be written to ${this.#path}: ${messageOf(cause)}`, {
        cause,
      });
    }
    this.#keys = keys;
  }
}

/** @throws Error when the disk does not give the file */
function keysIn(path: string): Buffer[] {
  const lines = (readPrivateFile(path) ?? '').split('\n');
  return lines.map((line) => Buffer.from(line, 'base64')).filter(({ length }) => length === KEY_BYTES);
}

/** Text of all keys, for a backup; undefined while there are none. */
export function secretKeysIn(path: string): string | undefined {
  return readPrivateFile(path);
}

/** Where the keys lie: beside the data folder unless the option names a file. */
export function secretKeysPath(config: { dataDir: string; secretsKeyFile: string | undefined }): string {
  return config.secretsKeyFile ?? `${resolve(config.dataDir)}.key`;
}
