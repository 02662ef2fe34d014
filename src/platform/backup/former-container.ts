/**
 * Opens backups as earlier versions made them: a format of our own, before there was `age`.
 *
 * ```
 * offset  bytes
 *      0      8  "EGBACKUP"
 *      8      1  version of this layout, 1
 *      9     16  salt
 *     25     12  nonce
 *     37      n  content, AES-256-GCM (NIST SP 800-38D); bytes 0 to 36 are authenticated with it
 *   37+n     16  tag
 * ```
 *
 * The key is argon2id (RFC 9106) of the password and the salt: 32 MiB, 3 passes, 1 lane.
 */
import { argon2, createDecipheriv } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { BackupError, NO_BACKUP } from './layout.ts';

/** The first bytes of such a file. */
export const FORMER_MAGIC = Buffer.from('EGBACKUP');
const VERSION = 1;
const SALT_BYTES = 16;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const HEAD_BYTES = FORMER_MAGIC.length + 1 + SALT_BYTES + NONCE_BYTES;
const CIPHER = 'aes-256-gcm';

/**
 * Writes the content to `target`, for its owner alone. What stands there is to be trusted only once this has
 * resolved. @throws BackupError
 */
export async function unsealFormer(source: FileHandle, target: string, password: string): Promise<void> {
  const { head, tag, sizeBytes } = await readEnds(source);
  const salt = head.subarray(FORMER_MAGIC.length + 1, FORMER_MAGIC.length + 1 + SALT_BYTES);
  const nonce = head.subarray(HEAD_BYTES - NONCE_BYTES);
  const decipher = createDecipheriv(CIPHER, await keyOf(password, salt), nonce)
    .setAAD(head)
    .setAuthTag(tag);
  const end = sizeBytes - TAG_BYTES - 1;
  const opened = new Transform({
    transform: (chunk: Buffer, _encoding, done) => done(null, decipher.update(chunk)),
    flush: (done) => {
      try {
        done(null, decipher.final());
      } catch (cause) {
        done(new BackupError('The password is wrong, or the file is damaged.', { cause }));
      }
    },
  });
  await pipeline(
    source.createReadStream({ start: HEAD_BYTES, end, autoClose: false }),
    opened,
    createWriteStream(target, { mode: 0o600, flush: true }),
  );
}

async function readEnds(file: FileHandle) {
  const { size: sizeBytes } = await file.stat();
  const head = Buffer.alloc(HEAD_BYTES);
  const tag = Buffer.alloc(TAG_BYTES);
  if (sizeBytes <= HEAD_BYTES + TAG_BYTES) throw new BackupError(NO_BACKUP);
  await file.read(head, 0, HEAD_BYTES, 0);
  await file.read(tag, 0, TAG_BYTES, sizeBytes - TAG_BYTES);
  if (!head.subarray(0, FORMER_MAGIC.length).equals(FORMER_MAGIC)) throw new BackupError(NO_BACKUP);
  if (head[FORMER_MAGIC.length] !== VERSION)
    throw new BackupError('The backup was made by a newer version of the gateway; install that one first.');
  return { head, tag, sizeBytes };
}

function keyOf(password: string, salt: Buffer): Promise<Buffer> {
  return promisify(argon2)('argon2id', {
    message: Buffer.from(password.normalize('NFC')),
    nonce: salt,
    memory: 32 * 1_024,
    passes: 3,
    parallelism: 1,
    tagLength: 32,
  });
}
