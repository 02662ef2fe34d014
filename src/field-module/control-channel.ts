/** The module's side of docs/communication-module.md: hello, requests with answers, and messages of the gateway. */
import type { Limits } from '../lib/limits.ts';
import type { Clock, Timer } from '../platform/clock/index.ts';
import {
  decodeToModule,
  encodeModuleMessage,
  type FromModule,
  MODULE_PROTOCOL,
  type ToModule,
} from '../protocol/module.ts';

export type Answer = ToModule & { type: 'answer' };
/** A message of the gateway that answers no request. */
export type Order = Exclude<ToModule, Answer>;
type WithoutId<Message> = Message extends unknown ? Omit<Message, 'id'> : never;
/** A request of a script to the gateway. */
export type ChannelRequest = WithoutId<
  FromModule & { type: 'storage_read' | 'storage_write' | 'storage_remove' | 'command' }
>;

interface ControlChannelOptions {
  clock: Clock;
  limits: Limits['module'];
  /** A new text at each start of the module. */
  run: string;
  offers: readonly string[];
  /** False: the message was not sent. */
  send: (text: string) => boolean;
  /** Called with each message that answers no request. */
  onMessage: (message: Order) => void;
  /** A message of the gateway cannot be understood. */
  onUnreadable: (problem: string) => void;
}

export type ControlChannel = ReturnType<typeof createControlChannel>;

export function createControlChannel(options: ControlChannelOptions) {
  const { clock, limits } = options;
  const open = new Map<string, (answer: Answer) => void>();
  let lastId = 0;
  let helloTimer: Timer | undefined;

  /** False: the message was not sent. */
  const send = (message: FromModule): boolean => options.send(encodeModuleMessage(message));

  function hello(): void {
    helloTimer?.cancel();
    send({ type: 'hello', version: MODULE_PROTOCOL.version, run: options.run, offers: [...options.offers] });
    helloTimer = clock.setTimer(limits.helloMs, hello);
  }

  function handle(message: ToModule): void {
    if (message.type === 'answer') return open.get(message.id)?.(message);
    const isOrder = message.type === 'assignments' || message.type === 'refused';
    // A module with the same credentials on another board has the same topic.
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
