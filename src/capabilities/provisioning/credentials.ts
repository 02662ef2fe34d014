/**
 * Device credentials. A password has 256 random bits, so one round of a salted hash protects it as well as
 * many would, and a thousand devices can log in after a restart without a queue.
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { StoredPassword } from './store.ts';

const PASSWORD_BYTES = 32;
const SALT_BYTES = 16;
const HARDWARE_ID_BYTES = 20;

/** Makes so many random bytes. */
export type RandomBytes = (sizeBytes: number) => Buffer;

/** 40 upper-case hexadecimal digits. */
export function newHardwareId(random: RandomBytes): string {
  return random(HARDWARE_ID_BYTES).toString('hex').toUpperCase();
}

/** A password and what is stored of it. */
export function newPassword(
  hardwareId: string,
  random: RandomBytes,
): { password: string; stored: StoredPassword } {
  const password = random(PASSWORD_BYTES).toString('base64url');
  return { password, stored: { hardwareId, ...storedPassword(password, random) } };
}

/** What is stored of a password. */
export function storedPassword(password: string, random: RandomBytes): Hashed {
  const salt = random(SALT_BYTES);
  return { salt, sha256: hashOf(salt, Buffer.from(password)) };
}

type Hashed = Omit<StoredPassword, 'hardwareId'>;

/** Compares in constant time; without a stored password it takes as long. */
export function isPassword(stored: Hashed | undefined, given: Buffer): boolean {
  const { salt, sha256 } = stored ?? NO_PASSWORD;
  return timingSafeEqual(hashOf(salt, given), sha256) && stored !== undefined;
}

const NO_PASSWORD = { salt: Buffer.alloc(SALT_BYTES), sha256: Buffer.alloc(32) };

function hashOf(salt: Buffer, password: Buffer): Buffer {
  return createHash('sha256').update(salt).update(password).digest();
}
