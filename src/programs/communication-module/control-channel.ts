/** The module's side of docs/communication-module.md: hello, requests with answers, and what the gateway says. */
import type { Limits } from '../../lib/limits.ts';
import type { Clock, Timer } from '../../platform/clock/index.ts';
import {
  decodeToModule,
  encodeModuleMessage,
  type FromModule,
  MODULE_PROTOCOL,
  type ToModule,
} from '../../protocol/module.ts';

export type Answer = ToModule & { type: 'answer' };
/** What the gateway says by itself. */
export type Order = Exclude<ToModule, Answer>;
type WithoutId<Message> = Message extends unknown ? Omit<Message, 'id'> : never;
/** What a script wants of the gateway. */
export type ChannelRequest = WithoutId<
  FromModule & { type: 'storage_read' | 'storage_write' | 'storage_remove' | 'command' }
>;

interface ControlChannelOptions {
  clock: Clock;
  limits: Limits['module'];
  /** Another text after each start of the module. */
  run: string;
  offers: readonly string[];
  /** False: not handed over. */
  send: (text: string) => boolean;
  /** What the gateway wants; answers go to who asked. */
  onMessage: (message: Order) => void;
  /** What the gateway said cannot be understood. */
  onUnreadable: (problem: string) => void;
}

export type ControlChannel = ReturnType<typeof createControlChannel>;

export function createControlChannel(options: ControlChannelOptions) {
  const { clock, limits } = options;
  const open = new Map<string, (answer: Answer) => void>();
  let lastId = 0;
  let helloTimer: Timer | undefined;

  /** False: not handed over. */
  const send = (message: FromModule): boolean => options.send(encodeModuleMessage(message));

  function hello(): void {
    helloTimer?.cancel();
    send({ type: 'hello', version: MODULE_PROTOCOL.version, run: options.run, offers: [...options.offers] });
    helloTimer = clock.setTimer(limits.helloMs, hello);
  }

  function handle(message: ToModule): void {
    if (message.type === 'answer') return open.get(message.id)?.(message);
    const isOrder = message.type === 'assignments' || message.type === 'refused';
    // Another start of the module, on another board, has the same topic.
    if (isOrder && message.run !== undefined && message.run !== options.run) return;
    if (isOrder) helloTimer?.cancel();
    options.onMessage(message);
  }

  return {
    send,
    connected: hello,
    lost: () => {
      helloTimer?.cancel();
      for (const [id, settle] of open) settle({ type: 'answer', id, error: 'the gateway is not connected' });
    },
    receive: (payload: Buffer) => {
      const decoded = decodeToModule(payload);
      if (decoded.problem === undefined) handle(decoded.message);
      else options.onUnreadable(decoded.problem);
    },
    /** Never rejects: a request without an answer is answered with an error. */
    request: (request: ChannelRequest, timeoutMs = limits.answerMs): Promise<Answer> =>
      new Promise((resolve) => {
        const id = `${options.run}-${++lastId}`;
        const settle = (answer: Answer): void => {
          timer.cancel();
          open.delete(id);
          resolve(answer);
        };
        const timer = clock.setTimer(timeoutMs, () => settle({ type: 'answer', id, error: 'timeout' }));
        open.set(id, settle);
        if (!send({ ...request, id })) settle({ type: 'answer', id, error: 'the gateway is not connected' });
      }),
  };
}
