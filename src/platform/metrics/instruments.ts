import type { Clock } from '../clock/index.ts';
import type { Log } from '../log/index.ts';
import type { Metrics } from './metrics.ts';

/** What every part that works by itself is handed: the time, the log and the metrics. */
export interface Instruments {
  clock: Clock;
  log: Log;
  metrics: Metrics;
}
