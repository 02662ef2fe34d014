/** A child program that does what it is told, for the tests of supervision. */
import { connectToParent, type Payload } from '../../../src/platform/processes/index.ts';

const commands: Record<string, (text: string) => void> = {
  echo: (text) => parent.send(text),
  settings: () => parent.send(JSON.stringify(parent.settings)),
  environment: () => parent.send(Object.keys(process.env).join()),
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
parent.signal.addEventListener('abort', () => {
  if (!ignoresStop) parent.close();
});
