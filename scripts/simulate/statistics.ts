/** What the simulated devices did together. */

export interface Statistics {
  sent: number;
  acknowledgedCount: number;
  /** The connection ended before the acknowledgement. */
  unacknowledged: number;
  /** Given up because the broker was away for too long. */
  dropped: number;
  commands: number;
  connectionsLost: number;
  acknowledged(latencyMs: number): void;
  /** Quantile of the latest acknowledgement latencies; undefined before the first. */
  latencyMs(quantile: number): number | undefined;
}

const LATENCIES = 4_096;

export function createStatistics(): Statistics {
  const latenciesMs = new Float64Array(LATENCIES);
  const statistics: Statistics = {
    sent: 0,
    acknowledgedCount: 0,
    unacknowledged: 0,
    dropped: 0,
    commands: 0,
    connectionsLost: 0,
    acknowledged: (latencyMs) => {
      latenciesMs[statistics.acknowledgedCount % LATENCIES] = latencyMs;
      statistics.acknowledgedCount += 1;
    },
    latencyMs: (quantile) => {
      const count = Math.min(statistics.acknowledgedCount, LATENCIES);
      return latenciesMs.slice(0, count).toSorted()[Math.floor(quantile * (count - 1))];
    },
  };
  return statistics;
}
