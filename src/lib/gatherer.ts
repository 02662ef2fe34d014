/** What is said one after another and goes as one: a message between threads or programs costs more than what it says. */

/** Hands over what came in the same turn of work, in its order, as soon as promises that are settled have run. */
export class Gatherer<Item> {
  readonly #handOver: (items: Item[]) => void;
  #items: Item[] = [];

  constructor(handOver: (items: Item[]) => void) {
    this.#handOver = handOver;
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) queueMicrotask(() => this.flush());
  }

  /** Hands over at once what waits, before something else that must come behind it. */
  flush(): void {
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#handOver(items);
  }
}
