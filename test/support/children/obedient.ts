/** A child program that follows orders, for the tests of supervision. */
import { execFileSync, spawn } from 'node:child_process';
import { dlopen } from 'node:ffi';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startThread } from '../../../src/platform/threads/index.ts';
import { connectToParent, type Payload } from '../../../src/platform/processes/index.ts';

/** `done`, or the code of the error. */
function attempt(act: () => unknown): string {
  try {
    act();
    return 'done';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? 'failed';
  }
}

const commands: Record<string, (text: string) => void> = {
  echo: (text) => parent.send(text),
  settings: () => parent.send(JSON.stringify(parent.settings)),
  environment: () => parent.send(Object.keys(process.env).join()),
  read: (path) => parent.send(attempt(() => readFileSync(path, 'utf8'))),
  write: (path) => parent.send(attempt(() => writeFileSync(path, 'x'))),
  run: (command) => parent.send(attempt(() => execFileSync(command))),
  native: () => parent.send(attempt(() => dlopen(null))),
  listen: () => parent.send(attempt(() => createServer().listen(0).close())),
  thread: (path) => {
    const thread = startThread({
      entry: join(import.meta.dirname, 'thread.ts'),
      data: path,
      heapMaxMib: 16,
      youngHeapMaxMib: 4,
      onMessage: (message) => {
        parent.send(String(message));
        void thread.end();
      },
      onExit: () => undefined,
    });
  },
  breed: () => {
    const grandchild = spawn('sleep', ['1000'], { stdio: 'inherit' });
    grandchild.unref();
    parent.send(String(grandchild.pid));
  },
  exit: (text) => process.exit(Number(text)),
  abort: () => process.kill(process.pid, 'SIGSEGV'),
  fail: (text) => {
    throw new Error(text);
  },
  babble: () => process.send?.({ kind: 'nonsense' }),
  greet: () => process.send?.({ kind: 'hello', version: 1 }),
  stick: () => {
    for (;;) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000);
  },
  deafen: () => (ignoresStop = true),
  large: (text) => parent.send(`${parent.send('x'.repeat(Number(text)))} ${parent.droppedMessages}`),
};

let ignoresStop = false;
const parent = await connectToParent({
  port: process,
  protocolVersion: 1,
  onPayload: (payload: Payload) => {
    if (typeof payload !== 'string') {
      parent.send(payload);
      return;
    }
    const [name = '', ...rest] = payload.split(' ');
    commands[name]?.(rest.join(' '));
  },
});
await parent.stopRequested;
if (!ignoresStop) parent.close();
