/** Makes backups: everything that a new box needs to go on as this one, without the history. */
import { rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { LIMITS, type Limits } from '../../lib/limits.ts';
import { formatTimestamp } from '../../lib/timestamp.ts';
import type { Clock } from '../clock/index.ts';
import { makePrivateFolder } from '../files/index.ts';
import { programEntry } from '../processes/index.ts';
import type { Database } from '../sqlite/index.ts';
import { startThread, type Thread } from '../threads/index.ts';
import { BACKUPS_FOLDER, TLS_FOLDER } from './layout.ts';
import type { SealedChunk, SealThreadData } from './seal-thread.ts';

export interface BackupOptions {
  /** state.db, open. */
  database: Database;
  dataDir: string;
  clock: Clock;
  version: string;
  /** history.db, when telemetry and logs shall be in it too; they take their size on the disk once more meanwhile. */
  historyPath?: string | undefined;
  limits?: Limits['backup'];
}

/** In the folder of the copies that are made before migrations; one that a crash left is removed by the next. */
const COPY = 'being-made.db';
const HISTORY_COPY = 'being-made-history';

/** A backup that is being read. */
export interface Backup {
  stream: ReadableStream<Uint8Array>;
  /** Resolves once it was read to its end or cancelled, and nothing of it is left on the disk. */
  ended: Promise<void>;
}

/**
 * A consistent state as of now, sealed by the password (see container.ts). The database is copied first, in turns
 * of a few pages, so that it takes its size on the disk once more until the stream has ended; its name is gone by
 * then, so that nothing of it stays, however this ends. One at a time. Resolves with its first bytes ready.
 */
export async function openBackup(
  { database, dataDir, clock, version, historyPath, limits = LIMITS.backup }: BackupOptions,
  password: string,
): Promise<Backup> {
  const folder = join(dataDir, BACKUPS_FOLDER);
  makePrivateFolder(folder);
  const copy = join(folder, COPY);
  const historyCopy = join(folder, HISTORY_COPY);
  const removeCopy = (): void => rmSync(copy, { force: true });
  const removeHistory = (): void => rmSync(historyCopy, { recursive: true, force: true });
  removeHistory();
  removeCopy();
  try {
    await database.copyTo(copy);
    const file = await open(copy);
    removeCopy();
    const madeAtMs = clock.wallMs();
    const sealing = new Sealing(limits.threadHeapMib, {
      info: {
        version,
        made_at: formatTimestamp(madeAtMs),
        ...(historyPath !== undefined && { includes_history: true }),
      },
      history: historyPath === undefined ? undefined : { path: historyPath, copy: historyCopy },
      madeAtMs,
      stateFd: file.fd,
      tlsDir: join(dataDir, TLS_FOLDER),
      password,
      workFactor: limits.workFactor,
    });
    const ended = sealing.ended.then(() => {
      removeHistory();
      return file.close();
    });
    return { stream: await sealing.stream(), ended };
  } catch (error) {
    removeCopy();
    throw error;
  }
}

/** What the thread makes, as a stream. */
class Sealing {
  /** Resolves when the thread is gone, however it ended. */
  readonly ended: Promise<void>;
  readonly #thread: Thread;
  #asked: PromiseWithResolvers<SealedChunk> | undefined;
  #failure: Error | undefined;

  constructor(heapMaxMib: number, data: SealThreadData) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#thread = startThread({
      entry: programEntry('platform/backup/seal-thread'),
      data,
      heapMaxMib,
      youngHeapMaxMib: 6,
      onMessage: (message) => this.#asked?.resolve(message as SealedChunk),
      onExit: (error) => {
        this.#failure = error ?? new Error('the thread that seals the backup ended early');
        this.#asked?.reject(this.#failure);
        resolve();
      },
    });
  }

  /** Resolves with the first chunk ready; the stream's end or its cancelling ends the thread. */
  async stream(): Promise<ReadableStream<Uint8Array>> {
    const first = await this.#next();
    return new ReadableStream({
      start: (controller) => give(controller, first),
      pull: async (controller) => give(controller, await this.#next()),
      cancel: () => this.#thread.terminate(),
    });
  }

  #next(): Promise<SealedChunk> {
    const asked = Promise.withResolvers<SealedChunk>();
    this.#asked = asked;
    if (this.#failure) asked.reject(this.#failure);
    else this.#thread.post('next');
    return asked.promise;
  }
}

function give(controller: ReadableStreamDefaultController<Uint8Array>, chunk: SealedChunk): void {
  if (chunk === 'end') controller.close();
  else controller.enqueue(chunk);
}
