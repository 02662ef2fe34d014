/**
 * The thread that packs and seals one backup (see container.ts), so that the event loop of the gateway goes on. It
 * gives a piece for every message that it gets, and ends with the last one.
 */
import { createReadStream, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Encrypter } from 'age-encryption';
import { ZipFile } from 'yazl';
import { connectThread } from '../threads/index.ts';
import { type BackupInfo, INFO_FILE, STATE_FILE, TLS_FOLDER } from './layout.ts';

export interface SealThreadData {
  info: BackupInfo;
  madeAtMs: number;
  /** Of the copy of state.db, open; its owner closes it. */
  stateFd: number;
  tlsDir: string;
  password: string;
  /** Of scrypt: 2^workFactor KiB of memory. */
  workFactor: number;
}

/** The next piece, or the end. */
export type SealedPiece = Uint8Array | 'end';

const { data, post, onMessage, close } = connectThread<SealThreadData, 'next', SealedPiece>();

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

function zipOf({ info, madeAtMs, stateFd, tlsDir }: SealThreadData): Readable {
  const zip = new ZipFile();
  const state = createReadStream('', { fd: stateFd, start: 0, autoClose: false });
  const options = { mtime: new Date(madeAtMs), mode: 0o600, compress: true };
  for (const source of [zip, state]) source.on('error', (error: Error) => zip.outputStream.destroy(error));
  zip.addBuffer(Buffer.from(JSON.stringify(info, null, 2)), INFO_FILE, options);
  if (existsSync(tlsDir))
    for (const name of readdirSync(tlsDir).filter((file) => file.endsWith('.pem')))
      zip.addBuffer(readFileSync(join(tlsDir, name)), `${TLS_FOLDER}/${name}`, options);
  zip.addReadStreamLazy(STATE_FILE, options, (done) => done(null, state));
  zip.end();
  return zip.outputStream;
}
