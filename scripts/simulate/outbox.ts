/** What a device still has to deliver: kept while the broker is away, oldest given up first. */

export interface OutboxEntry<Kind> {
  kind: Kind;
  body: Record<string, unknown>;
}

export interface Outbox<Kind> {
  readonly count: number;
  add(entry: OutboxEntry<Kind>): void;
  /** Takes the oldest entries out. */
  take(count: number): OutboxEntry<Kind>[];
}

/** @param onDropped called for every entry given up because more than `limit` wait */
export function createOutbox<Kind>(limit: number, onDropped: () => void): Outbox<Kind> {
  const entries: OutboxEntry<Kind>[] = [];
  return {
    get count() {
      return entries.length;
    },
    add: (entry) => {
      entries.push(entry);
      if (entries.length <= limit) return;
      entries.shift();
      onDropped();
    },
    take: (count) => entries.splice(0, count),
  };
}
