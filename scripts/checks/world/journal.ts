/**
 * What the clients know: which messages and calls they made, and which of them were acknowledged. The
 * gateway is judged against this after every restart. Pure.
 */

/** One thing that is wrong, in words that name the exact item. */
export interface Problem {
  kind: 'lost' | 'doubled' | 'wrong' | 'stop' | 'missed';
  item: string;
}

/** Things of which each is there once when acknowledged, and at most once otherwise. */
export class Attempts<Key> {
  readonly #fates = new Map<Key, 'attempted' | 'acknowledged'>();

  attempt(key: Key): void {
    if (!this.#fates.has(key)) this.#fates.set(key, 'attempted');
  }

  acknowledge(key: Key): void {
    this.#fates.set(key, 'acknowledged');
  }

  has(key: Key): boolean {
    return this.#fates.has(key);
  }

  isAcknowledged(key: Key): boolean {
    return this.#fates.get(key) === 'acknowledged';
  }

  /** Those acknowledged until now. */
  acknowledged(): Key[] {
    return [...this.#fates].filter(([, fate]) => fate === 'acknowledged').map(([key]) => key);
  }

  get count(): number {
    return this.#fates.size;
  }
}

/** One value that is replaced again and again, by one writer at a time. */
export class Register {
  readonly #values: string[] = [];
  #acknowledged = -1;
  #seen = -1;

  /** @returns a number that `acknowledge` takes */
  attempt(value: string): number {
    return this.#values.push(value) - 1;
  }

  acknowledge(attempt: number): void {
    this.#acknowledged = Math.max(this.#acknowledged, attempt);
  }

  /** The oldest attempt that may still be there: take it before asking. */
  get floor(): number {
    return Math.max(this.#acknowledged, this.#seen);
  }

  get acknowledgedCount(): number {
    return this.#acknowledged + 1;
  }

  /** The last one attempted. */
  get latest(): string | undefined {
    return this.#values.at(-1);
  }

  /** Judges the value read; what was seen once must not go back. */
  judge(item: string, value: unknown, floor: number): Problem[] {
    if (floor < 0 && this.#values.length === 0) return [];
    const index = typeof value === 'string' ? this.#values.lastIndexOf(value) : -1;
    if (index >= floor) {
      this.#seen = Math.max(this.#seen, index);
      return [];
    }
    if (index < 0 && floor < 0) return [];
    const expected = this.#values[floor];
    return [{ kind: 'lost', item: `${item} is ${JSON.stringify(value)}, acknowledged was ${expected}` }];
  }
}

/** Judges a list that holds each acknowledged item once. */
export function judgeList<Key>(
  item: (key: Key) => string,
  attempts: Attempts<Key>,
  required: readonly Key[],
  found: readonly Key[],
): Problem[] {
  const counts = new Map<Key, number>();
  for (const key of found) counts.set(key, (counts.get(key) ?? 0) + 1);
  const problems: Problem[] = [];
  for (const key of required) if (!counts.has(key)) problems.push({ kind: 'lost', item: item(key) });
  for (const [key, count] of counts) {
    if (count > 1) problems.push({ kind: 'doubled', item: `${item(key)}, ${count} times` });
    if (!attempts.has(key)) problems.push({ kind: 'wrong', item: `${item(key)} was never sent` });
  }
  return problems;
}
