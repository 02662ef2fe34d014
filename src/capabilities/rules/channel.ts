/**
 * Messages to the sandbox, in their order. What there is no room for waits: a lost `stop` would let a rule go
 * on, a lost answer would let one wait for ever. What waits is bounded by the number of rules and by the
 * requests that the sandbox lets them ask.
 */
import type { Program } from '../../platform/processes/index.ts';
import { encodeSandboxMessage, type ToSandbox } from '../../protocol/rule-sandbox.ts';

export type SandboxChannel = ReturnType<typeof createSandboxChannel>;

export function createSandboxChannel(options: {
  program: () => Pick<Program, 'state' | 'send' | 'drained'>;
  /** What one message may be at most. */
  messageBytes: number;
  /** A message that never fits. */
  onTooLarge: (message: ToSandbox) => void;
  onRoom: () => void;
}) {
  const { program, messageBytes } = options;
  let waiting: string[] = [];
  /** One per life of the sandbox: what an earlier one waited for is of no interest. */
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
    /** For what its sender can keep back itself. False: there is no room now; `onRoom` tells when there is. */
    offer: (message: ToSandbox) => {
      if (!isRunning()) return false;
      if (waiting.length === 0 && program().send(encodeSandboxMessage(message))) return true;
      startPump();
      return false;
    },
    /** The sandbox is gone, and with it whoever waited for messages. */
    clear: () => {
      waiting = [];
      pump = undefined;
    },
  };
}
