/**
 * A thread of a child program that tries what it must not: to read a file, to start a thread that may, and to call
 * the C library, which may do everything.
 */
import { dlopen } from 'node:ffi';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { connectThread } from '../../../src/platform/threads/index.ts';

const port = connectThread<string, never, string>();

function attempt(act: () => unknown): string {
  try {
    act();
    return 'done';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'failed';
  }
}

const read = attempt(() => readFileSync(port.data));
const start = attempt(() => new Worker('0', { eval: true, execArgv: [] }));
const call = attempt(() => dlopen(null));
port.post(`${read} ${start} ${call}`);
