/** A small file beside the segments, with what a reader of them cannot do without: CRC-32 of the rest u32, content. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { readPlainFile } from '../files/index.ts';

export const COMPANION = 'companion';

export function sealCompanion(content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(4 + content.length);
  bytes.writeUInt32LE(crc32(content), 0);
  bytes.set(content, 4);
  return bytes;
}

/** Undefined when there is none, or it is damaged. */
export function readCompanion(folder: string): Buffer | undefined {
  const path = join(folder, COMPANION);
  if (!existsSync(path)) return undefined;
  const bytes = readPlainFile(path);
  const isIntact = bytes.length >= 4 && bytes.readUInt32LE(0) === crc32(bytes.subarray(4));
  return isIntact ? bytes.subarray(4) : undefined;
}
