/**
 * A file that only its password opens: what leaves the box holds keys and settings that nobody else may read. It has
 * the format `age` (age-encryption.org/v1, https://c2sp.org/age) with a passphrase, so that its owner opens it without
 * us: `age -d site.backup > site.zip`. It is sealed in a thread of its own (seal-thread.ts) and opened by the local
 * command. The password counts as Unicode NFC.
 */
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import type { Limits } from '../../lib/limits.ts';
import { keepStream } from '../files/index.ts';
import { BackupError, NO_BACKUP } from './layout.ts';

const FIRST_LINE = 'age-encryption.org/v1\n';
/** Starts the last line of the header. */
const LAST_LINE = '\n--- ';
/** A header with a passphrase has 150 bytes. */
const HEADER_MAX_BYTES = 1_024;
const WORK_FACTOR = /\n-> scrypt \S+ (\d{1,3})\n/;

/**
 * Writes the content of a backup to `target`, for its owner alone. It is to be trusted only once this has resolved.
 * @throws BackupError
 */
export async function unseal(
  source: FileHandle,
  target: string,
  password: string,
  limits: Pick<Limits['backup'], 'workFactorMax'>,
): Promise<void> {
  const head = Buffer.alloc(HEADER_MAX_BYTES);
  const { bytesRead } = await source.read(head, 0, HEADER_MAX_BYTES, 0);
  const text = head.toString('latin1', 0, bytesRead);
  if (!text.startsWith(FIRST_LINE)) throw new BackupError(NO_BACKUP);
  requireWork(text, limits.workFactorMax);
  const bytes = source.createReadStream({ start: 0, autoClose: false });
  try {
    const content = await decrypted(bytes, password);
    await keepStream(target, checked(content));
  } finally {
    bytes.destroy();
  }
}

/** A hostile file must not cost more memory and time than the limit: 2^factor KiB. */
function requireWork(text: string, workFactorMax: number): void {
  const end = text.indexOf(LAST_LINE);
  if (end < 0) throw new BackupError('The file is damaged: its header has no end.');
  const factor = WORK_FACTOR.exec(text.slice(0, end + 1))?.[1];
  if (factor === undefined)
    throw new BackupError(
      'The file is not sealed by a password; open it with age and seal it with `age -p`.',
    );
  if (Number(factor) <= workFactorMax) return;
  throw new BackupError(
    `The file asks for the work factor ${factor} of scrypt, at most ${workFactorMax} is taken.`,
  );
}

async function decrypted(bytes: Readable, password: string): Promise<ReadableStream<Uint8Array>> {
  // 25 MiB of code that a gateway needs for this alone.
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  decrypter.addPassphrase(password.normalize('NFC'));
  try {
    return await decrypter.decrypt(Readable.toWeb(bytes) as ReadableStream<Uint8Array>);
  } catch (cause) {
    throw new BackupError('The password is wrong, or the file is damaged.', { cause });
  }
}

/** Every chunk is authenticated before it comes out, and the end too. */
async function* checked(content: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* content;
  } catch (cause) {
    throw new BackupError('The file is damaged, or its end is missing.', { cause });
  }
}
