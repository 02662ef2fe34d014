/** Makes backups: everything that a new box needs to go on as this one, without the history. */
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { unavailable } from '../../lib/errors.ts';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/time.ts';
import type { Clock, Timer } from '../clock/index.ts';
import { keepStream, makePrivateFolder, removeFile, removeTree, secretKeysIn } from '../files/index.ts';
import type { Log } from '../log/index.ts';
import { programEntry } from '../processes/index.ts';
import { type Database, isDamage } from '../sqlite/index.ts';
import { startThread } from '../threads/index.ts';
import {
  BackupError,
  BACKUPS_FOLDER,
  BEING_MADE,
  DOCUMENTS_FOLDER,
  NO_BACKUP,
  TLS_FOLDER,
} from './layout.ts';
import type { SealedChunk, SealThreadData } from './seal-thread.ts';

/** Content of a backup and its encryption. */
export interface BackupOptions {
  /** state.db, open. */
  database: Database;
  dataDir: string;
  /** File of the keys that seal secrets; nobody else opens a backup, so they travel in it. */
  secretKeysPath: string;
  clock: Clock;
  version: string;
  /** history.db, when telemetry and logs shall be in it too; they take their size on the disk once more meanwhile. */
  historyPath?: string | undefined;
  /** It could not be read because it is damaged. */
  onHistoryDamage?: (damage: Error) => void;
  log: Log;
  /** Ends what is under way. */
  signal?: AbortSignal | undefined;
  limits?: Limits['backup'];
}

const HISTORY_DAMAGED = 'Part of the history is damaged. It is mended now; try again in a while.';

/** A backup that is being read. */
export type Backup = Awaited<ReturnType<typeof openBackup>>;

/**
 * A consistent state as of now, sealed by the password (see container.ts). The database is copied first, in turns
 * of a few pages, so that it takes its size on the disk once more until the stream has ended; its name is gone by
 * then, so that nothing of it stays, however this ends. One at a time. Resolves with its first bytes ready.
 */
export async function openBackup(options: BackupOptions, password: string) {
  const { database, dataDir, clock, log, version, historyPath, limits = LIMITS.backup } = options;
  const folder = join(dataDir, BACKUPS_FOLDER);
  makePrivateFolder(folder);
  // A copy of this process: a local command may make one at the same time.
  const copy = join(folder, `${BEING_MADE}-${process.pid}.db`);
  const historyCopy = join(folder, `${BEING_MADE}-${process.pid}-history`);
  const removeCopy = (): void => removeFile(copy);
  const removeHistory = (): void => removeTree(historyCopy);
  removeHistory();
  removeCopy();
  let file: FileHandle | undefined;
  const letGo = async (): Promise<void> => {
    try {
      removeHistory();
    } catch (error) {
      log.warn('what a backup left cannot be removed', { path: historyCopy, error });
    }
    await file?.close().catch((error: unknown) => log.warn('a copy of state.db cannot be closed', { error }));
  };
  try {
    await database.copyTo(copy);
    file = await open(copy);
    removeCopy();
    const madeAtMs = clock.wallMs();
    const sealing = seal(options, {
      info: {
        version,
        made_at: formatTimestamp(madeAtMs),
        ...(historyPath !== undefined && { includes_history: true }),
      },
      history: historyPath === undefined ? undefined : { path: historyPath, copy: historyCopy },
      madeAtMs,
      stateFd: file.fd,
      secretKeys: secretKeysIn(options.secretKeysPath),
      tlsDir: join(dataDir, TLS_FOLDER),
      documentsDir: join(dataDir, DOCUMENTS_FOLDER),
      password,
      workFactor: limits.workFactor,
    });
    /** Resolves once it was read to its end or cancelled, and nothing of it is left on the disk. */
    const ended = sealing.ended.then(letGo);
    return { stream: await sealing.stream(), ended };
  } catch (error) {
    await letGo();
    removeCopy();
    throw error;
  }
}

/** Chunks of the thread, as a stream. */
function seal(
  { clock, signal, limits = LIMITS.backup, onHistoryDamage }: BackupOptions,
  data: SealThreadData,
): { stream: () => Promise<ReadableStream<Uint8Array>>; ended: Promise<void> } {
  const { promise: ended, resolve: hasEnded } = Promise.withResolvers<void>();
  let idle: Timer | undefined;
  let asked: PromiseWithResolvers<SealedChunk> | undefined;
  let failure: unknown;
  signal?.throwIfAborted();
  const giveUp = (): void => void thread.end();
  const thread = startThread({
    entry: programEntry('platform/backup/seal-thread'),
    data,
    heapMaxMib: limits.threadHeapMib,
    youngHeapMaxMib: 6,
    onMessage: (message) => asked?.resolve(message as SealedChunk),
    onExit: (error) => {
      signal?.removeEventListener('abort', giveUp);
      idle?.cancel();
      // It opens no other database.
      const isOfHistory = error !== undefined && isDamage(error);
      failure = isOfHistory
        ? unavailable(HISTORY_DAMAGED, { cause: error })
        : (error ?? signal?.reason ?? new Error('the thread that seals the backup ended early'));
      asked?.reject(failure);
      hasEnded();
      if (isOfHistory) onHistoryDamage?.(error);
    },
  });
  signal?.addEventListener('abort', giveUp);

  async function next(): Promise<SealedChunk> {
    idle?.cancel();
    asked = Promise.withResolvers<SealedChunk>();
    if (failure) asked.reject(failure);
    else thread.post('next');
    const chunk = await asked.promise;
    // A reader that has stopped reading does not keep others from a backup.
    if (chunk !== 'end' && !failure) idle = clock.setTimer(limits.readerIdleMs, giveUp);
    return chunk;
  }

  return {
    /** Resolves when the thread is gone, however it ended. */
    ended,
    /** Resolves with the first chunk ready; the stream's end or its cancelling ends the thread. */
    stream: async () => {
      const first = await next();
      return new ReadableStream({
        start: (controller) => give(controller, first),
        pull: async (controller) => give(controller, await next()),
        cancel: () => thread.end(),
      });
    },
  };
}

function give(controller: ReadableStreamDefaultController<Uint8Array>, chunk: SealedChunk): void {
  if (chunk === 'end') controller.close();
  else controller.enqueue(chunk);
}

// A file that only its password opens: what leaves the box holds keys and settings that nobody else may read. It has
// the format `age` (age-encryption.org/v1, https://c2sp.org/age) with a passphrase, so that its owner opens it without
// us: `age -d site.backup > site.zip`. It is sealed in a thread of its own (seal-thread.ts) and opened by the local
// command. The password counts as Unicode NFC.

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
