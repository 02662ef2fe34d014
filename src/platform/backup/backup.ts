/** Makes backups: everything that a new box needs to go on as this one, without the history. */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { formatTimestamp } from '../../lib/timestamp.ts';
import type { Clock } from '../clock/index.ts';
import { makePrivateFolder } from '../files/index.ts';
import type { Log } from '../log/index.ts';
import type { Database } from '../sqlite/index.ts';
import { type BackupInfo, INFO_FILE, STATE_FILE, TLS_FOLDER } from './layout.ts';
import { createSeal } from './seal.ts';

export interface BackupOptions {
  /** state.db, open. */
  database: Database;
  dataDir: string;
  clock: Clock;
  log: Log;
  version: string;
}

/** In the folder of the copies that are made before migrations; what a crash left is removed by the next backup. */
const COPY = 'being-made.db';

export interface Backup {
  stream: ReadableStream<Uint8Array>;
  /** Resolves once it was read to its end or cancelled, and nothing of it is left on the disk. */
  ended: Promise<void>;
}

/**
 * A consistent state as of now, sealed by the password (see seal.ts). The database is copied first, in turns
 * of a few pages, so that it takes its size on the disk once more until the stream has ended; its name is gone by
 * then, so that nothing of it stays, however this ends. One at a time.
 */
export async function openBackup(
  { database, dataDir, clock, log, version }: BackupOptions,
  password: string,
): Promise<Backup> {
  const folder = join(dataDir, 'backups');
  makePrivateFolder(folder);
  const copy = join(folder, COPY);
  const removeCopy = (): void => rmSync(copy, { force: true });
  removeCopy();
  try {
    await database.copyTo(copy);
    const info: BackupInfo = { version, made_at: formatTimestamp(clock.wallMs()) };
    const seal = await createSeal(password);
    const content = (await open(copy)).createReadStream();
    removeCopy();
    const ended = pipeline(zipOf({ info, content, tlsDir: join(dataDir, TLS_FOLDER), clock }), seal)
      // Whoever reads the stream is told.
      .catch((error: unknown) => log.debug('backup was not read to its end', { error }))
      .finally(() => content.destroy());
    return { stream: Readable.toWeb(seal) as ReadableStream<Uint8Array>, ended };
  } catch (error) {
    removeCopy();
    throw error;
  }
}

function zipOf(parts: { info: BackupInfo; content: Readable; tlsDir: string; clock: Clock }): Readable {
  const zip = new ZipFile();
  const options = { mtime: new Date(parts.clock.wallMs()), mode: 0o600, compress: true };
  for (const source of [zip, parts.content])
    source.on('error', (error: Error) => zip.outputStream.destroy(error));
  zip.addBuffer(Buffer.from(JSON.stringify(parts.info, null, 2)), INFO_FILE, options);
  if (existsSync(parts.tlsDir))
    for (const name of readdirSync(parts.tlsDir).filter((file) => file.endsWith('.pem')))
      zip.addBuffer(readFileSync(join(parts.tlsDir, name)), `${TLS_FOLDER}/${name}`, options);
  zip.addReadStreamLazy(STATE_FILE, options, (done) => done(null, parts.content));
  zip.end();
  return zip.outputStream;
}
