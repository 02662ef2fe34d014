/** What the metrics page says of the targets. There are few of them: their names are labels. */
import type { Metrics } from '../../platform/metrics/index.ts';
import type { ListedTarget } from './model.ts';

export function registerTargetMetrics(metrics: Metrics, list: () => readonly ListedTarget[]): void {
  const gauge = (name: string, help: string, of: (listed: ListedTarget) => number | undefined): void => {
    metrics.gauge(name, help, ['target'], (set) => {
      set.reset();
      for (const listed of list()) {
        const value = of(listed);
        if (value !== undefined) set.set({ target: listed.record.name }, value);
      }
    });
  };
  gauge('target_up', '1 while the target takes telemetry.', ({ status }) =>
    status.state === 'CURRENT' || status.state === 'CATCHING_UP' ? 1 : 0,
  );
  gauge('target_lag_seconds', 'Age of the oldest sample that was not sent.', ({ status }) => status.lagS);
  gauge('target_lag_samples', 'Samples that were not sent yet.', ({ status }) => status.lagSamples);
  gauge('target_samples_sent', 'Samples that the target has acknowledged.', ({ status }) => status.samples);
  gauge('target_bytes_sent', 'Bytes that went to the target.', ({ status }) => status.bytes);
  gauge(
    'target_samples_lost',
    'Samples that the history gave up before they were sent.',
    ({ status }) => status.lostSamples,
  );
  gauge(
    'target_samples_refused',
    'Samples that the target does not take.',
    ({ status }) => status.refusedSamples,
  );
  gauge(
    'target_lag_records',
    'Records besides telemetry that were not sent yet.',
    ({ status }) => status.lagRecords,
  );
  gauge(
    'target_records_sent',
    'Records besides telemetry that the target has acknowledged.',
    ({ status }) => status.records,
  );
  gauge(
    'target_records_lost',
    'Records that were gone before they were sent.',
    ({ status }) => status.lostRecords,
  );
  gauge(
    'target_commands_up',
    '1 while commands may come from the target, 0 without a connection; none where they may not.',
    ({ status: { commands } }) => (commands ? Number(commands.isConnected) : undefined),
  );
}
