/**
 * Evidence that a write-ahead log has lost commits. SQLite ends a log at the first frame that does not fit and says nothing,
 * so a damaged, shortened or missing log silently brings back what was there before. The shared index of the last process
 * (https://sqlite.org/walformat.html) says how many frames there were; frames of the present log behind its end show it too.
 * Where log and index are both gone, the folder's lock says whether the last process had them.
 */
import { closeSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import type BetterSqlite3 from 'better-sqlite3';
import { unlessRefused } from '../../lib/system-fault.ts';
import type { EpochMs } from '../../lib/time.ts';
import { unlessAbsent } from '../files/index.ts';

/** Changes of this time may be missing. */
export interface LostChanges {
  fromMs: EpochMs;
  toMs: EpochMs;
}

interface Index {
  frames: number;
  /** Frames that are in the database file already. */
  backfilled: number;
  salt: Buffer;
}

const INDEX_HEADER_BYTES = 48;
const LOG_HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/**
 * What the log and its index say before the database is opened, which begins both anew. Afterwards SQLite itself is asked:
 * closing the index in this process would cancel the locks that SQLite holds on it
 * (https://sqlite.org/howtocorrupt.html, section 2.2), and the next program would shorten it under us.
 */
export class LogEvidence {
  readonly #path: string;
  readonly #index: Index | undefined;
  readonly #times: LostChanges;
  /** The last process did not close its index, and it is not there. */
  readonly #lacksIndex: boolean;

  constructor(path: string, hadLog: boolean) {
    this.#path = path;
    this.#index = indexOf(path);
    this.#lacksIndex = hadLog && !this.#index && timeOf(path) !== undefined;
    const now = (suffix: string): EpochMs => Math.round(timeOf(path + suffix) ?? timeOf(path) ?? 0);
    // The file is written by checkpoints, the log by every commit.
    this.#times = { fromMs: now(''), toMs: Math.max(now(''), now('-wal'), now('-shm')) };
  }

  /** To be called after the first read of the database, and before the first write. */
  lost(handle: BetterSqlite3.Database): LostChanges | undefined {
    return unlessRefused(
      () => (this.#isShortened(framesIn(handle)) ? this.#times : undefined),
      () => undefined,
    );
  }

  #isShortened(frames: number): boolean {
    if (this.#lacksIndex && frames === 0) return true;
    // SQLite takes no locks on the log, so it can be closed here.
    const descriptor = unlessAbsent(() => openSync(`${this.#path}-wal`, 'r'));
    try {
      const header = Buffer.alloc(LOG_HEADER_BYTES);
      const isWhole =
        descriptor !== undefined && readSync(descriptor, header, 0, LOG_HEADER_BYTES, 0) === LOG_HEADER_BYTES;
      if (this.#hasFewerThanBefore(frames, header)) return true;
      return isWhole && hasFramesBehind(frames, header, descriptor);
    } finally {
      if (descriptor !== undefined) closeSync(descriptor);
    }
  }

  #hasFewerThanBefore(frames: number, header: Buffer): boolean {
    const before = this.#index;
    if (!before || before.frames <= before.backfilled) return false;
    if (frames === 0) return true;
    // Another salt: the index is older than the log, as after a power cut.
    return saltOf(header).equals(before.salt) && frames < before.frames;
  }
}

const saltOf = (header: Buffer): Buffer => header.subarray(16, 24);

/** A commit of the present log behind the first frame that does not fit. */
function hasFramesBehind(frames: number, header: Buffer, descriptor: number): boolean {
  const frameBytes = FRAME_HEADER_BYTES + header.readUInt32BE(8);
  const frame = Buffer.alloc(FRAME_HEADER_BYTES);
  const isAt = (number: number): boolean =>
    readSync(descriptor, frame, 0, FRAME_HEADER_BYTES, LOG_HEADER_BYTES + number * frameBytes) ===
    FRAME_HEADER_BYTES;
  for (let number = frames + 1; isAt(number); number++)
    if (frame.readUInt32BE(4) > 0 && frame.subarray(8, 16).equals(saltOf(header))) return true;
  return false;
}

/** Frames of the log that SQLite uses; NOOP writes nothing. */
function framesIn(handle: BetterSqlite3.Database): number {
  const [{ log } = { log: 0 }] = handle.pragma('wal_checkpoint(NOOP)') as { log: number }[];
  // Below 0: a database without a log.
  return Math.max(0, log);
}

/** Undefined where there is none that was finished. Numbers are in the order of the machine, which is little-endian here. */
function indexOf(path: string): Index | undefined {
  const bytes = unlessRefused(
    () => unlessAbsent(() => readFileSync(`${path}-shm`)),
    () => undefined,
  );
  if (!bytes || bytes.length < 3 * INDEX_HEADER_BYTES) return undefined;
  const [first, second] = [bytes.subarray(0, INDEX_HEADER_BYTES), bytes.subarray(INDEX_HEADER_BYTES, 96)];
  if (first[12] !== 1 || !first.equals(second)) return undefined;
  return { frames: first.readUInt32LE(16), backfilled: bytes.readUInt32LE(96), salt: first.subarray(32, 40) };
}

function timeOf(path: string): EpochMs | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
