/** A thread that loads before its work is known: loading takes a large part of a start. */
import { startThread, type Thread, type ThreadOptions } from './thread.ts';

type Handlers = Pick<ThreadOptions, 'onMessage' | 'onExit'>;

/** Its taker tells it by a message what to do; until then it sends nothing. */
export class SpareThread {
  readonly #thread: Thread;
  #handlers: Handlers | undefined;
  #hasEnded = false;

  constructor(options: Omit<ThreadOptions, keyof Handlers>) {
    this.#thread = startThread({
      ...options,
      onMessage: (message) => this.#handlers?.onMessage(message),
      onExit: (error) => {
        this.#hasEnded = true;
        this.#handlers?.onExit(error);
      },
    });
  }

  /** Undefined when somebody has it, or when it has ended: it is started anew then. */
  take(handlers: Handlers): Thread | undefined {
    if (this.#handlers || this.#hasEnded) return undefined;
    this.#handlers = handlers;
    return this.#thread;
  }

  /** Ends it if nobody took it. */
  async end(): Promise<void> {
    if (this.take({ onMessage: () => undefined, onExit: () => undefined })) await this.#thread.end();
  }
}
