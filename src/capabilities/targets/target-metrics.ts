/** Metrics of the targets. Targets are few, so that their names can be labels. */
import type { Metrics } from '../../platform/metrics/index.ts';
import type { ListedTarget, TargetStatus } from './model.ts';

type Counted = {
  [Name in keyof TargetStatus]-?: TargetStatus[Name] extends number ? Name : never;
}[keyof TargetStatus];

const NUMBERS: readonly [name: string, help: string, member: Counted][] = [
  ['target_lag_seconds', 'Age of the oldest sample that was not sent.', 'lagS'],
  ['target_lag_samples', 'Samples that were not sent yet.', 'lagSamples'],
  ['target_samples_sent', 'Samples that the target has acknowledged.', 'samples'],
  ['target_bytes_sent', 'Bytes that went to the target.', 'bytes'],
  ['target_samples_lost', 'Samples that the history gave up before they were sent.', 'lostSamples'],
  ['target_samples_refused', 'Samples that the target does not take.', 'refusedSamples'],
  ['target_lag_records', 'Records besides telemetry that were not sent yet.', 'lagRecords'],
  ['target_records_sent', 'Records besides telemetry that the target has acknowledged.', 'records'],
  ['target_records_lost', 'Records that were gone before they were sent.', 'lostRecords'],
];

export function registerTargetMetrics(metrics: Metrics, list: () => readonly ListedTarget[]): void {
  const gauge = (name: string, help: string, of: (status: TargetStatus) => number | undefined): void => {
    metrics.gauge(name, help, ['target'], (set) => {
      set.reset();
      for (const { record, status } of list()) {
        const value = of(status);
        if (value !== undefined) set.set({ target: record.name }, value);
      }
    });
  };
  gauge('target_up', '1 while the target takes telemetry.', ({ state }) =>
    Number(state === 'CURRENT' || state === 'CATCHING_UP'),
  );
  for (const [name, help, member] of NUMBERS) gauge(name, help, (status) => status[member]);
  gauge(
    'target_commands_up',
    '1 while commands may come from the target, 0 without a connection; none where they may not.',
    ({ commands }) => (commands ? Number(commands.isConnected) : undefined),
  );
}
