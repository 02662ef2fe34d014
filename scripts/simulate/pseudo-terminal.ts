/** A pseudo-terminal at a path, for serial devices that are played. Needs the program socat. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { messageOf } from '../../src/lib/errors.ts';
import { UsageError } from '../support/arguments.ts';

export interface PseudoTerminal {
  /** What is written at the path. */
  input: Readable;
  /** What is read at the path. */
  output: Writable;
  child: ChildProcess;
}

/** Whether there can be one on this machine. */
export function hasPseudoTerminals(): boolean {
  return spawnSync('socat', ['-V'], { stdio: 'ignore' }).status === 0;
}

/** @param say called when socat is missing */
export function openPseudoTerminal(path: string, say: (text: string) => void): PseudoTerminal {
  const child = spawn('socat', [`pty,rawer,link=${path}`, '-'], { stdio: ['pipe', 'pipe', 'inherit'] });
  child.on('error', (error) => say(`no serial port, because socat cannot be started: ${messageOf(error)}`));
  const { stdin, stdout } = child;
  if (stdin === null || stdout === null) throw new UsageError('socat has no pipes');
  stdin.on('error', () => child.kill());
  return { input: stdout, output: stdin, child };
}
