/** What every place for backups can do, and what it needs to. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';

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

async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** @throws TargetError when what was read back is something else */
export async function requireSame(path: string, readBack: string): Promise<void> {
  if ((await digestOfFile(path)) !== (await digestOfFile(readBack)))
    throw new TargetError(
      'What was stored is not what was sent: the place for backups is not to be trusted.',
    );
}

/** G: a day of the slowest uplink is no backup any more. */
const PROGRAM_TIMEOUT_MS = 6 * 3_600_000;
const OUTPUT_MAX = 1_048_576;

/**
 * Runs a program of the system without a shell. @returns what it wrote
 * @throws TargetError with its last words, or with the package that brings it; the signal ends it
 */
export async function runClient(
  program: { name: string; debianPackage: string },
  words: readonly string[],
  { input, home, signal }: { input: string; home: string; signal?: AbortSignal | undefined },
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const child = spawn(program.name, words, {
    env: { PATH: '/usr/bin:/bin', HOME: home, LC_ALL: 'C' },
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: PROGRAM_TIMEOUT_MS,
    ...(signal && { signal }),
  });
  child.on('error', (cause) =>
    reject(
      'code' in cause && cause.code === 'ENOENT'
        ? new TargetError(`The program ${program.name} is missing: apt install ${program.debianPackage}`, {
            cause,
          })
        : cause,
    ),
  );
  // Not started; where the system has no more files it has no streams either, whatever its type says.
  if (child.pid === undefined) return promise;
  let output = '';
  let complaint = '';
  child.stdout
    .setEncoding('utf8')
    .on('data', (text: string) => (output = (output + text).slice(0, OUTPUT_MAX)));
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (complaint = (complaint + text).slice(-1_000)));
  // A program that ended early does not read on; its exit code says why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  child.on('close', (code, signal) => {
    if (code === 0) resolve(output);
    else reject(new TargetError(`${program.name} ended with ${signal ?? code}: ${lastLinesOf(complaint)}`));
  });
  return promise;
}

function lastLinesOf(text: string): string {
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '' && !line.startsWith('@'));
  return lines.slice(-3).join(' ').trim() || 'it said nothing';
}
