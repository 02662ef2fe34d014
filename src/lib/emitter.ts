interface Listener {
  owner: string;
  handle: (event: never) => void;
  order: number;
}

interface FailureLog {
  error: (message: string, failure: { owner: string; event: string; error: unknown }) => void;
}

/**
 * Events of one capability. Listeners run in the order they subscribed, synchronously, after the fact is
 * stored. A listener that throws is reported with its owner's name and the others still run. An event
 * never carries a question: who needs an answer calls.
 */
export class Emitter<Events extends object> {
  readonly #listeners = new Map<keyof Events, Set<Listener>>();
  readonly #log: FailureLog;
  #subscriptions = 0;

  constructor(log: FailureLog) {
    this.#log = log;
  }

  /** Subscribes; the returned function ends the subscription. */
  on<Name extends keyof Events>(
    name: Name,
    owner: string,
    handle: (event: Events[Name]) => void,
  ): () => void {
    const entry = { owner, handle: handle as (event: never) => void, order: this.#subscriptions++ };
    let set = this.#listeners.get(name);
    if (!set) this.#listeners.set(name, (set = new Set()));
    set.add(entry);
    return () => void set.delete(entry);
  }

  /** True when somebody listens, so that a hot path can skip building the event. */
  has(name: keyof Events): boolean {
    return (this.#listeners.get(name)?.size ?? 0) > 0;
  }

  emit<Name extends keyof Events>(name: Name, event: Events[Name]): void {
    const set = this.#listeners.get(name);
    if (!set) return;
    // A listener that subscribes during the event is too late for it.
    const end = this.#subscriptions;
    for (const { owner, handle, order } of set) {
      if (order >= end) break;
      try {
        (handle as (event: Events[Name]) => void)(event);
      } catch (error) {
        this.#log.error('listener failed', { owner, event: String(name), error });
      }
    }
  }
}
