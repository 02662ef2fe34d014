/**
 * Storage keys of scripts. A key is any bytes in Lua, and text in messages and in the database: bytes that
 * are no UTF-8 are marked and written as one character each, so that two keys never become one. Pure.
 */
import { Buffer, isUtf8 } from 'node:buffer';
import { LIMITS } from '../lib/limits.ts';

/** Stands for no character, so a text has no reason to begin with it; one that does is marked itself. */
const MARK = '\uffff';

/** The text for a key of a script. */
export function storageKeyOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return isUtf8(bytes) && !text.startsWith(MARK) ? text : `${MARK}${bytes.toString('latin1')}`;
}

/** Bytes that the key has for the script. */
export function storageKeyLength(key: string): number {
  return key.startsWith(MARK) ? key.length - MARK.length : Buffer.byteLength(key);
}

/** Whether a device may have the key: 1 to 64 bytes. */
export function isStorageKey(key: string): boolean {
  return key.length > 0 && storageKeyLength(key) <= LIMITS.module.storageKeyBytes;
}
