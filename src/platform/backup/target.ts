/** Operations of every place for backups, and their needs. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { LIMITS } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { unlessAbsent } from '../files/index.ts';

/** The place does not take or give a backup now; the message is for a person. */
export class TargetError extends Error {
  override name = 'TargetError';
}

/** Names are made by us: letters, digits, `-` and `.`. */
export interface BackupTarget {
  /**
   * Stores the file under the name, and reads back what is there. A name exists only once its content is whole.
   * @throws TargetError
   */
  store(path: string, name: string): Promise<void>;
  /** Names of all that is there, of others too. @throws TargetError */
  names(): Promise<string[]>;
  /** @throws TargetError */
  remove(name: string): Promise<void>;
}

/** Ends in the name of what is not whole yet. */
export const PART = '.part';

const NOT_SAME = 'What was stored is not what was sent: the place for backups is not to be trusted.';
const TOO_MUCH = 'The place for backups sends more than was asked for: it is not to be trusted.';

/** Compares what a place gives back with the file that was sent. It takes no more than one byte too many. */
export class ReadBack {
  readonly #path: string;
  readonly sizeBytes: number;
  readonly #hash = createHash('sha256');
  #bytes = 0;

  constructor(path: string) {
    this.#path = path;
    this.sizeBytes = statSync(path).size;
  }

  /** False: it is longer than what was sent. */
  take(piece: Uint8Array): boolean {
    this.#bytes += piece.length;
    this.#hash.update(piece);
    return this.#bytes <= this.sizeBytes;
  }

  /** @throws TargetError when something else was read back */
  async takeFile(path: string): Promise<void> {
    // One more byte shows that the file is longer.
    const pieces = createReadStream(path, { start: 0, end: this.sizeBytes });
    for await (const piece of pieces as AsyncIterable<Buffer>) this.take(piece);
    await this.requireSame();
  }

  /** @throws TargetError when something else was read back */
  async requireSame(): Promise<void> {
    const sent = createHash('sha256');
    await pipeline(createReadStream(this.#path), sent);
    if (this.#bytes !== this.sizeBytes || sent.digest('hex') !== this.#hash.digest('hex'))
      throw new TargetError(NOT_SAME);
  }
}

/**
 * Removes files in order. After `removingMs` no further one begins, so that a slow place, or one that lists more than was ever
 * stored, does not keep its caller for hours. @throws TargetError
 */
export async function removeOld(
  target: BackupTarget,
  names: readonly string[],
  clock: Pick<Clock, 'monotonicMs'>,
): Promise<void> {
  const startedMs = clock.monotonicMs();
  for (const name of names) {
    if (clock.monotonicMs() - startedMs > LIMITS.backup.removingMs) return;
    await target.remove(name);
  }
}

/** For a call that moves no file. */
const CALL_TIMEOUT_MS: DurationMs = 120_000;
/** Rate of the slowest uplink that a backup is sent over. */
const LEAST_BYTES_PER_MS = 32;
/** A listing of some thousand files. */
const OUTPUT_MAX_BYTES = 4 * 1_048_576;
/** Memory of a program of the system; a listing without end would fill it. */
const PROGRAM_BYTES_MAX = 128 * 1_048_576;
const LOOK_MS: DurationMs = 50;

/** How long a program may take that moves so many bytes. */
export const timeoutOf = (movedBytes: number): DurationMs =>
  Math.ceil(CALL_TIMEOUT_MS + movedBytes / LEAST_BYTES_PER_MS);

interface ClientRun {
  input: string;
  home: string;
  signal?: AbortSignal | undefined;
  /** Default: that of a call which moves no file. */
  timeoutMs?: DurationMs;
  /** Gets what the program writes instead of the caller; false: it is too much, and the program ends. */
  take?: (piece: Uint8Array) => boolean;
  /** Whether a file that the program writes is too long, looked at while it runs. */
  watch?: { clock: Pick<Clock, 'setRepeating'>; isTooMuch: () => boolean };
}

/**
 * Runs a program of the system without a shell. @returns what it wrote
 * @throws TargetError with its last words, or with the package that brings it; the signal ends it
 */
export async function runClient(
  program: { name: string; debianPackage: string },
  words: readonly string[],
  { input, home, signal, timeoutMs = CALL_TIMEOUT_MS, take, watch }: ClientRun,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn(program.name, words, {
    env: { PATH: '/usr/bin:/bin', HOME: home, LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: timeoutMs,
    ...(signal && { signal }),
  });
  child.on('error', (cause) => reject(startFailure(cause, program)));
  // The child was not started; a system without free descriptors gives no streams either, whatever their type says.
  if (child.pid === undefined) return promise;
  const { pid } = child;
  let isTooMuch = false;
  const stop = (): void => {
    isTooMuch = true;
    child.kill();
  };
  const output: Buffer[] = [];
  let outputBytes = 0;
  const gather = (piece: Buffer): boolean => {
    if ((outputBytes += piece.length) > OUTPUT_MAX_BYTES) return false;
    output.push(piece);
    return true;
  };
  let complaint = '';
  child.stdout.on('data', (piece: Buffer) => {
    if (!isTooMuch && !(take ?? gather)(piece)) stop();
  });
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (complaint = (complaint + text).slice(-1_000)));
  // A program that ended early does not read on; its exit code has the reason.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const looking = watch?.clock.setRepeating(LOOK_MS, () => {
    if (!isTooMuch && (watch.isTooMuch() || residentBytes(pid) > PROGRAM_BYTES_MAX)) stop();
  });
  child.on('close', (code, killedBy) => {
    looking?.cancel();
    if (isTooMuch) reject(new TargetError(TOO_MUCH));
    else if (code === 0) resolve(Buffer.concat(output).toString());
    else reject(new TargetError(`${program.name} ended with ${killedBy ?? code}: ${lastLinesOf(complaint)}`));
  });
  return promise;
}

function startFailure(cause: Error, program: { name: string; debianPackage: string }): Error {
  return 'code' in cause && cause.code === 'ENOENT'
    ? new TargetError(`The program ${program.name} is missing: apt install ${program.debianPackage}`, {
        cause,
      })
    : cause;
}

const PAGE_BYTES = 4_096;

/** Memory of another process; 0 when it has ended. proc(5), statm. */
function residentBytes(pid: number): number {
  const text = unlessAbsent(() => readFileSync(`/proc/${pid}/statm`, 'utf8')) ?? '';
  return Number(text.split(' ')[1] ?? 0) * PAGE_BYTES;
}

function lastLinesOf(text: string): string {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('@'));
  return lines.slice(-3).join(' ').trim() || 'it said nothing';
}
