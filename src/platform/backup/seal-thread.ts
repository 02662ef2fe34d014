/**
 * The thread that packs and seals one backup (see container.ts), so that the event loop of the gateway goes on. It
 * gives a chunk for every message that it gets, and ends with the last one.
 */
import { createReadStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { Encrypter } from 'age-encryption';
import { ZipFile } from 'yazl';
import type { EpochMs } from '../../lib/time.ts';
import { isThere, keptFiles, makePrivateFolder, unlessAbsent } from '../files/index.ts';
import { copyCompact } from '../sqlite/index.ts';
import { connectThread } from '../threads/index.ts';
import {
  type BackupInfo,
  DOCUMENT_FILE,
  DOCUMENTS_FOLDER,
  HISTORY_FILE,
  INFO_FILE,
  JOURNAL_FILE,
  JOURNAL_FOLDER,
  KEYS_FILE,
  STATE_FILE,
  TLS_FILE,
  TLS_FOLDER,
} from './layout.ts';

export interface SealThreadData {
  info: BackupInfo;
  madeAtMs: EpochMs;
  /** Descriptor of the copy of state.db; its owner closes it. */
  stateFd: number;
  /** Keys of the secrets in state.db; undefined while there are none. */
  secretKeys: string | undefined;
  tlsDir: string;
  /** Documents of devices. */
  documentsDir: string;
  password: string;
  /** history.db, in use, and the folder into which it is copied first; its owner removes that. */
  history: { path: string; copy: string } | undefined;
  /** Work factor of scrypt: 2^workFactor KiB of memory. */
  workFactor: number;
}

/** The next chunk, or the end. */
export type SealedChunk = Uint8Array | 'end';

const { data, post, onMessage, close } = connectThread<SealThreadData, 'next', SealedChunk>();

const encrypter = new Encrypter();
encrypter.setPassphrase(data.password.normalize('NFC'));
encrypter.setScryptWorkFactor(data.workFactor);
const content = Readable.toWeb(zipOf(data)) as ReadableStream<Uint8Array>;
const sealed = (await encrypter.encrypt(content)).getReader();
onMessage(() => {
  // A failure ends the thread, and with it the backup.
  void sealed.read().then(({ done, value }) => {
    post(done ? 'end' : value);
    if (done) close();
  });
});

/**
 * The journal first: what history.db takes over from it meanwhile is in both then, and counts once, as each record has
 * its number.
 */
function copyHistory({ path, copy }: { path: string; copy: string }): void {
  const journal = join(dirname(path), JOURNAL_FOLDER);
  const target = join(copy, JOURNAL_FOLDER);
  makePrivateFolder(target);
  for (const name of isThere(journal) ? readdirSync(journal) : [])
    if (JOURNAL_FILE.test(name)) copyIfThere(join(journal, name), join(target, name));
  copyCompact(path, join(copy, HISTORY_FILE));
}

/**
 * A segment that is gone by now was moved to history.db. Read to its end, because the runtime's own copy waits for ever
 * for bytes that a file has lost meanwhile.
 */
function copyIfThere(from: string, to: string): void {
  try {
    writeFileSync(to, readFileSync(from), { mode: 0o600 });
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
}

function zipOf(parts: SealThreadData): Readable {
  const { info, madeAtMs, stateFd, secretKeys, tlsDir, documentsDir, history } = parts;
  if (history) copyHistory(history);
  const zip = new ZipFile();
  const state = createReadStream('', { fd: stateFd, start: 0, autoClose: false });
  const options = { mtime: new Date(madeAtMs), mode: 0o600, compress: true };
  for (const source of [zip, state]) source.on('error', (error: Error) => zip.outputStream.destroy(error));
  zip.addBuffer(Buffer.from(JSON.stringify(info, null, 2)), INFO_FILE, options);
  if (secretKeys !== undefined) zip.addBuffer(Buffer.from(secretKeys), KEYS_FILE, options);
  if (isThere(tlsDir))
    for (const name of readdirSync(tlsDir).filter((file) => TLS_FILE.test(file)))
      zip.addBuffer(readFileSync(join(tlsDir, name)), `${TLS_FOLDER}/${name}`, options);
  for (const name of keptFiles(documentsDir).filter((file) => DOCUMENT_FILE.test(file)))
    // Photos and PDFs are compressed already. One that was deleted meanwhile is left empty.
    zip.addReadStreamLazy(`${DOCUMENTS_FOLDER}/${name}`, { ...options, compress: false }, (done) =>
      done(
        null,
        Readable.from([unlessAbsent(() => readFileSync(join(documentsDir, name))) ?? Buffer.alloc(0)]),
      ),
    );
  zip.addReadStreamLazy(STATE_FILE, options, (done) => done(null, state));
  if (history) {
    const journal = readdirSync(join(history.copy, JOURNAL_FOLDER)).map(
      (name) => `${JOURNAL_FOLDER}/${name}`,
    );
    for (const name of [HISTORY_FILE, ...journal])
      // Most of it is compressed already.
      zip.addReadStreamLazy(name, { ...options, compress: !name.endsWith('.db') }, (done) =>
        done(null, createReadStream(join(history.copy, name))),
      );
  }
  zip.end();
  return zip.outputStream;
}
