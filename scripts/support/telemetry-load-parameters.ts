/** What `telemetry-load.ts` is told. */
export interface TelemetryLoad {
  port: number;
  seed: number;
  devices: number;
  startS: number;
  seconds: number;
  /** Messages sent and not yet acknowledged, per connection. */
  window: number;
  /** Time for one second of the workload; 0: as fast as possible. */
  paceMs: number;
}
