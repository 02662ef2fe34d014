/**
 * Messages to the sandbox, in order. A message without room waits, because a lost `stop` would let a rule run on and
 * a lost answer would let one wait for ever. The queue is bounded by the number of rules and of requests that the sandbox
 * lets them make.
 */
import type { Program } from '../../platform/processes/index.ts';
import { encodeSandboxMessage, type ToSandbox } from '../../protocol/rule-sandbox.ts';

export type SandboxChannel = ReturnType<typeof createSandboxChannel>;

export function createSandboxChannel(options: {
  program: () => Pick<Program, 'state' | 'send' | 'drained'>;
  /** Largest message. */
  messageBytes: number;
  /** Called for a message that never fits. */
  onTooLarge: (message: ToSandbox) => void;
  onRoom: () => void;
}) {
  const { program, messageBytes } = options;
  let waiting: string[] = [];
  /** One per life of the sandbox, so that the pump of an earlier life ends. */
  let pump: object | undefined;

  const isRunning = (): boolean => program().state === 'running';

  async function run(own: object): Promise<void> {
    do {
      await program().drained();
      if (pump !== own) return;
      let sent = 0;
      for (const text of waiting) {
        if (!program().send(text)) break;
        sent++;
      }
      waiting = waiting.slice(sent);
    } while (waiting.length > 0 && isRunning());
    pump = undefined;
    options.onRoom();
  }

  function startPump(): void {
    if (pump) return;
    const own = {};
    pump = own;
    void run(own);
  }

  return {
    /** Sends it, now or as soon as there is room; nothing happens while the sandbox does not run. */
    send: (message: ToSandbox) => {
      if (!isRunning()) return;
      const text = encodeSandboxMessage(message);
      if (Buffer.byteLength(text) > messageBytes) {
        options.onTooLarge(message);
        return;
      }
      if (waiting.length === 0 && program().send(text)) return;
      waiting.push(text);
      startPump();
    },
    /** For messages that the sender can keep back. False: there is no room now; `onRoom` is called when there is. */
    offer: (message: ToSandbox) => {
      if (!isRunning()) return false;
      if (waiting.length === 0 && program().send(encodeSandboxMessage(message))) return true;
      startPump();
      return false;
    },
    /** The sandbox ended: waiting messages are dropped. */
    clear: () => {
      waiting = [];
      pump = undefined;
    },
  };
}
