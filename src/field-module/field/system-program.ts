/**
 * Programs of the operating system that reach hardware for which the runtime has no call (docs/decisions, CAN and
 * contacts). They read and write lines of text, and end with this process, however it ends.
 */
import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import type { Limits } from '../../lib/limits.ts';
import type { DurationMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';

/** Its kernel call ends the child with its parent; part of Debian's base system. */
const SETPRIV = '/usr/bin/setpriv';
const ENDS_WITH_PARENT = ['--pdeathsig', 'KILL', '--'];

/** Access to them. */
export interface SystemPrograms {
  /** Starts one that goes on; each whole line that it says is handed over. */
  start(name: string, args: readonly string[], onLine: (line: string) => void): RunningProgram;
  /** Runs one to its end; resolves with what it said. @throws ProgramFailure */
  run(
    name: string,
    args: readonly string[],
    given: { timeoutMs: DurationMs; input?: string },
  ): Promise<string>;
}

/** A program did not end well; the message is for people. */
export class ProgramFailure extends Error {
  /** Its output so far; undefined: its effect is not known. */
  readonly said: string | undefined;
  constructor(message: string, said: string | undefined, cause?: unknown) {
    super(message, { cause });
    this.name = 'ProgramFailure';
    this.said = said;
  }
}

/** Those of a folder, which is absolute. */
export function systemPrograms(folder = '/usr/bin'): SystemPrograms {
  return {
    start: (...given) => startProgram(folder, ...given),
    run: (...given) => runProgram(folder, ...given),
  };
}

/** Parts that a port of the board needs. */
export interface PortOptions {
  programs: SystemPrograms;
  clock: Clock;
  limits: Limits['field'];
  /** The port cannot be used; called for each attempt. */
  onFailed: (reason: string) => void;
  /** It works. */
  onWorking: () => void;
}

export interface RunningProgram {
  /** Resolves when it is gone, with the reason for people. */
  readonly ended: Promise<string>;
  stop(): void;
}

function startProgram(
  folder: string,
  name: string,
  args: readonly string[],
  onLine: (line: string) => void,
): RunningProgram {
  const child: ChildProcessByStdio<null, Readable, Readable> = spawn(
    SETPRIV,
    [...ENDS_WITH_PARENT, `${folder}/${name}`, ...args],
    { stdio: ['ignore', 'pipe', 'pipe'], env: {} },
  );
  let complaint = '';
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', () => resolve(reasonOf(name, complaint)));
  });
  // Where the system has no more open files there are no streams, whatever their type says.
  if (child.pid !== undefined) {
    createInterface(child.stdout).on('line', onLine);
    createInterface(child.stderr).on('line', (line) => {
      complaint = line;
    });
  }
  return { ended, stop: () => void child.kill('SIGKILL') };
}

function runProgram(
  folder: string,
  name: string,
  args: readonly string[],
  { timeoutMs, input = '' }: { timeoutMs: DurationMs; input?: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      `${folder}/${name}`,
      [...args],
      { timeout: timeoutMs, env: {} },
      (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        const said = 'code' in error && error.code === 'ENOENT' ? 'No such file or directory' : stderr;
        // Its last output may be lost with it.
        if (error.killed) return reject(new ProgramFailure(`${name} does not end`, undefined, error));
        reject(new ProgramFailure(reasonOf(name, said), stdout, error));
      },
    );
    // A program that ends before it has read everything reports the reason itself.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input);
  });
}

/** Packages of Debian that bring them. */
const PACKAGES: Readonly<Record<string, string>> = {
  candump: 'can-utils',
  canplayer: 'can-utils',
  gpioget: 'gpiod',
  gpiomon: 'gpiod',
  gpioset: 'gpiod',
};

/** Messages of the programs, and what a person on the spot can do. */
const REMEDIES: readonly (readonly [RegExp, string])[] = [
  [/No buffer space/, 'nobody on the bus takes the frames; look at wiring, termination and bit rate'],
  [/Network is down/, 'the system must set the interface up, with its bit rate'],
  [/No such device$/, 'the system has no such interface'],
  [/Address family not supported/, 'the service has no right to CAN, examples/can.conf gives it'],
  [/Permission denied/, 'the group of the device file must be one of the service'],
  [/resource busy/, 'another program, or a driver of the system, holds it'],
];

function reasonOf(name: string, said: string): string {
  const line = said.trim().split('\n').at(-1) ?? '';
  if (line.endsWith(`${name}: No such file or directory`) || line === 'No such file or directory')
    return `the program ${name} is not installed, the package ${PACKAGES[name] ?? name} brings it`;
  if (line === '') return `${name} ended`;
  const [, remedy] = REMEDIES.find(([pattern]) => pattern.test(line)) ?? [];
  const reason = line.replace(new RegExp(`^${name}: `), '');
  return remedy === undefined ? reason : `${reason}: ${remedy}`;
}
