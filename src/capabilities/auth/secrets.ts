/** Secrets that authenticate: tokens for programs, a claim code for people to type. */
import { hash } from 'node:crypto';

/** 256 bits: nobody guesses it, so a plain hash is enough to store it. */
const TOKEN_BYTES = 32;
const TOKEN_PREFIX = 'gw_';

/** Crockford's base 32: no letter looks like a digit. */
const LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
/** 60 bits; logins are throttled, so nobody tries more than some thousands a day. */
const CODE_LETTERS = 12;
const CODE_GROUP = /.{4}(?=.)/g;

export function newTokenText(random: (sizeBytes: number) => Buffer): string {
  return `${TOKEN_PREFIX}${random(TOKEN_BYTES).toString('base64url')}`;
}

/** Such as `7K2M-Q9XD-0FTB`. */
export function newClaimCode(random: (sizeBytes: number) => Buffer): string {
  const letters = [...random(CODE_LETTERS)].map((byte) => LETTERS[byte % LETTERS.length] ?? '');
  return letters.join('').replace(CODE_GROUP, '$&-');
}

/** The code as it was made, from whatever a person typed: any case, blanks, O for 0, I or L for 1. */
export function normalizeClaimCode(typed: string): string {
  const letters = typed.toUpperCase().replace(/[\s-]/g, '').replaceAll('O', '0').replace(/[IL]/g, '1');
  return letters.replace(CODE_GROUP, '$&-');
}

export function hashOf(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}
