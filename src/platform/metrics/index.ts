export type { Instruments } from './instruments.ts';
export { createMetrics, type Metrics } from './metrics.ts';
