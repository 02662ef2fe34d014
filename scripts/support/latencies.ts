/** Waiting times of one kind of client. */
export interface Latencies {
  add(latencyMs: number): void;
  readonly count: number;
  /** Undefined before the first. */
  quantileMs(quantile: number): number | undefined;
}

export function createLatencies(): Latencies {
  const all: number[] = [];
  return {
    add: (latencyMs) => void all.push(latencyMs),
    get count() {
      return all.length;
    },
    quantileMs: (quantile) => all.toSorted((a, b) => a - b)[Math.ceil(quantile * all.length) - 1],
  };
}
