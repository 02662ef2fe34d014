export { createMetrics, type Instruments, type Metrics } from './metrics.ts';
