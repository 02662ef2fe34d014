/** The state of the store on the metrics page. */
import type { Metrics } from '../../platform/metrics/index.ts';
import type { EngineStatus } from '#telemetry-store';

export function registerStoreMetrics(metrics: Metrics, status: () => EngineStatus | undefined): void {
  const show = (name: string, help: string, value: (status: EngineStatus) => number | undefined): void => {
    metrics.gauge(`telemetry_store_${name}`, help, [], (gauge) => {
      const known = status();
      const shown = known && value(known);
      // Unknown is not zero: such a sample is left out.
      if (shown === undefined) gauge.remove();
      else gauge.set(shown);
    });
  };
  show('used_bytes', 'Pages of history.db in use.', ({ usedBytes }) => usedBytes);
  show('file_bytes', 'Size of history.db.', ({ fileBytes }) => fileBytes);
  show('limit_bytes', 'Limit of everything that belongs to the history.', ({ sizeMaxBytes }) => sizeMaxBytes);
  show('forecast_days', 'Days until the oldest is removed to make room.', ({ forecastDays }) => forecastDays);
  show('series', 'Series known.', ({ seriesCount }) => seriesCount);
  show('open_samples', 'Samples in the journal only.', ({ openSamples }) => openSamples);
  show('damaged', 'Blocks and records not readable since the start.', ({ damaged }) => damaged);
  show('degraded', '1 while the store cannot write.', ({ degraded }) => (degraded === undefined ? 0 : 1));
}
