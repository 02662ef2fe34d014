/** A small file beside the segments, with what is needed to read them: CRC-32 of the rest u32, content. */
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { isThere, readPlainFile } from '../../platform/files/index.ts';

export const COMPANION = 'companion';

export function sealCompanion(content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(4 + content.length);
  bytes.writeUInt32LE(crc32(content), 0);
  bytes.set(content, 4);
  return bytes;
}

/**
 * Undefined when there is none, or it is damaged. `acceptsRefused`: what the disk does not give is damaged. @throws Error when
 * it does not give it now
 */
export function readCompanion(folder: string, acceptsRefused = false): Buffer | undefined {
  const path = join(folder, COMPANION);
  let bytes: Buffer;
  try {
    if (!isThere(path)) return undefined;
    bytes = readPlainFile(path);
  } catch (error) {
    if (!acceptsRefused) throw error;
    return undefined;
  }
  const isIntact = bytes.length >= 4 && bytes.readUInt32LE(0) === crc32(bytes.subarray(4));
  return isIntact ? bytes.subarray(4) : undefined;
}
