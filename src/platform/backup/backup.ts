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
import { TLS_FOLDER } from './layout.ts';
import type { SealedPiece, SealThreadData } from './seal-thread.ts';

export interface BackupOptions {
  /** state.db, open. */
  database: Database;
  dataDir: string;
  clock: Clock;
  version: string;
  limits?: Limits['backup'];
}

/** In the folder of the copies that are made before migrations; one that a crash left is removed by the next. */
const COPY = 'being-made.db';

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
  { database, dataDir, clock, version, limits = LIMITS.backup }: BackupOptions,
  password: string,
): Promise<Backup> {
  const folder = join(dataDir, 'backups');
  makePrivateFolder(folder);
  const copy = join(folder, COPY);
  const removeCopy = (): void => rmSync(copy, { force: true });
  removeCopy();
  try {
    await database.copyTo(copy);
    const file = await open(copy);
    removeCopy();
    const madeAtMs = clock.wallMs();
    const sealing = new Sealing(limits.threadHeapMib, {
      info: { version, made_at: formatTimestamp(madeAtMs) },
      madeAtMs,
      stateFd: file.fd,
      tlsDir: join(dataDir, TLS_FOLDER),
      password,
      workFactor: limits.workFactor,
    });
    const ended = sealing.ended.then(() => file.close());
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
  #asked: PromiseWithResolvers<SealedPiece> | undefined;
  #failure: Error | undefined;

  constructor(heapMaxMib: number, data: SealThreadData) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#thread = startThread({
      entry: programEntry('platform/backup/seal-thread'),
      data,
      heapMaxMib,
      youngHeapMaxMib: 6,
      onMessage: (message) => this.#asked?.resolve(message as SealedPiece),
      onExit: (error) => {
        this.#failure = error ?? new Error('the thread that seals the backup ended early');
        this.#asked?.reject(this.#failure);
        resolve();
      },
    });
  }

  /** Resolves with the first piece ready; the stream's end or its cancelling ends the thread. */
  async stream(): Promise<ReadableStream<Uint8Array>> {
    const first = await this.#next();
    return new ReadableStream({
      start: (controller) => give(controller, first),
      pull: async (controller) => give(controller, await this.#next()),
      cancel: () => this.#thread.terminate(),
    });
  }

  #next(): Promise<SealedPiece> {
    const asked = Promise.withResolvers<SealedPiece>();
    this.#asked = asked;
    if (this.#failure) asked.reject(this.#failure);
    else this.#thread.post('next');
    return asked.promise;
  }
}

function give(controller: ReadableStreamDefaultController<Uint8Array>, piece: SealedPiece): void {
  if (piece === 'end') controller.close();
  else controller.enqueue(piece);
}
