/** Events of a running task, read one by one. */
export class EventQueue<Event> {
  readonly #events: Event[] = [];
  #isEnded = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  push(event: Event): void {
    this.#events.push(event);
    this.#wake?.();
  }

  /** No further event comes. @param failure thrown by the next read after the last event */
  end(failure?: unknown): void {
    this.#isEnded = true;
    this.#failure = failure;
    this.#wake?.();
  }

  /** Undefined: the work is over. @throws what ended it */
  async next(): Promise<Event | undefined> {
    while (this.#events.length === 0 && !this.#isEnded)
      await new Promise<void>((resolve) => (this.#wake = resolve));
    const event = this.#events.shift();
    if (event === undefined && this.#failure !== undefined) throw this.#failure;
    return event;
  }
}
