/** Hands items over together, because a message between threads or programs costs more than its content. */

/** Hands over the items of one turn of work, in their order, once the promises that are settled have run. */
export class Batcher<Item> {
  readonly #handOver: (items: Item[]) => void;
  #items: Item[] = [];

  constructor(handOver: (items: Item[]) => void) {
    this.#handOver = handOver;
  }

  add(item: Item): void {
    if (this.#items.push(item) === 1) queueMicrotask(() => this.flush());
  }

  /** Hands over what waits at once, before something that must come after it. */
  flush(): void {
    if (this.#items.length === 0) return;
    const items = this.#items;
    this.#items = [];
    this.#handOver(items);
  }
}

/**
 * Takes items that arrived together one by one, each after the promises of the item before have run: a caller that
 * waits for an answer goes on before the items behind that answer are handled, as if each had arrived alone.
 */
export class OneByOne<Item> {
  readonly #take: (item: Item) => void;
  readonly #waiting: Item[] = [];
  #isGoing = false;

  constructor(take: (item: Item) => void) {
    this.#take = take;
  }

  add(items: readonly Item[]): void {
    this.#waiting.push(...items);
    if (!this.#isGoing) this.#next();
  }

  #next(): void {
    this.#isGoing = this.#waiting.length > 0;
    if (!this.#isGoing) return;
    // A tick that is asked for by a promise comes when no promise is left to run.
    queueMicrotask(() => process.nextTick(() => this.#next()));
    this.#take(this.#waiting.shift() as Item);
  }
}
