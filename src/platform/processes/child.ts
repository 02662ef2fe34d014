/**
 * The child's end of the channel. A child program begins with `connectToParent`, and ends when
 * `stopRequested` resolves: the parent said so, by message or SIGTERM, or is gone. Heartbeats are answered here; while the event loop is
 * stuck they are not, and the parent acts.
 */
import { OneByOne } from '../../lib/batcher.ts';
import { type Limits, LIMITS } from '../../lib/limits.ts';
import { createOutbox, type Outbox, type Payload, readMessage, type ToChild, type ToParent } from './wire.ts';

/** A program's end of the channel to the gateway. */
export interface ParentLink extends Pick<Outbox, 'send' | 'drained' | 'queuedBytes' | 'isClosed'> {
  /** Settings from the parent at start. */
  readonly settings: unknown;
  /** Resolves when the program shall end, also when that was said before anybody asked. */
  readonly stopRequested: Promise<void>;
  /** Messages dropped because the parent did not read fast enough or they were too large. */
  readonly droppedMessages: number;
  /** Lets go of the channel, so that the process can end by having nothing left to do. */
  close(): void;
}

/** The part of `process` that is needed. */
type ParentPort = Pick<NodeJS.Process, 'on' | 'disconnect' | 'connected'> & {
  send?:
    | ((message: ToParent, handle: undefined, options: undefined, done: () => void) => boolean)
    | undefined;
};

/** Resolves when the parent has sent the settings. @throws Error when started without a parent */
export function connectToParent(options: {
  port: ParentPort;
  protocolVersion: number;
  onPayload: (payload: Payload) => void;
  limits?: Pick<Limits['processes'], 'messageBytes' | 'queuedBytes'>;
}): Promise<ParentLink> {
  const { port, protocolVersion } = options;
  const { send } = port;
  if (send === undefined) throw new Error('this program is started by the gateway, not by hand');
  const stop = Promise.withResolvers<void>();
  const settings = Promise.withResolvers<ParentLink>();
  let droppedMessages = 0;

  const post = (message: ToParent, done: () => void = () => undefined): void => {
    if (port.connected) send.call(port, message, undefined, undefined, () => done());
    else done();
  };
  const outbox = createOutbox({
    post,
    limits: options.limits ?? LIMITS.processes,
    onDropped: () => droppedMessages++,
  });

  const turns = new OneByOne<() => void>((take) => take());
  function receive(raw: unknown): void {
    const message = readMessage<ToChild>(raw, ['settings', 'ping', 'stop', 'data']);
    if (message?.kind === 'ping') post({ kind: 'pong', id: message.id });
    // Behind what was sent before it.
    else if (message?.kind === 'stop') turns.add([() => stop.resolve()]);
    else if (message?.kind === 'data')
      turns.add(message.payloads.map((payload) => () => options.onPayload(payload)));
    else if (message?.kind === 'settings') {
      // The parent compares; a child of another version is ended there with the reason in the log.
      post({ kind: 'hello', version: protocolVersion });
      settings.resolve({
        settings: message.settings,
        stopRequested: stop.promise,
        send: outbox.send,
        drained: outbox.drained,
        get queuedBytes() {
          return outbox.queuedBytes;
        },
        get isClosed() {
          return outbox.isClosed;
        },
        get droppedMessages() {
          return droppedMessages;
        },
        close: () => {
          outbox.close();
          if (port.connected) port.disconnect?.();
        },
      });
    }
  }

  port.on('message', receive);
  port.on('SIGTERM', () => stop.resolve());
  // A terminal sends this to the whole group; the parent decides about the end.
  port.on('SIGINT', () => undefined);
  port.on('disconnect', () => {
    outbox.close();
    stop.resolve();
  });
  return settings.promise;
}
