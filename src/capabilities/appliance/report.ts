/** The problem report: data for remote support, without secrets. */
import { withoutSecrets } from '../../lib/redaction.ts';
import { type EpochMs, formatTimestamp } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { Host } from '../../platform/host/index.ts';
import type { Metrics } from '../../platform/metrics/index.ts';
import type { Appliance } from './service.ts';

/** Sources of a problem report. */
export interface ReportOptions {
  appliance: Appliance;
  clock: Clock;
  host: Host;
  metrics: Metrics;
  version: string;
  /** Effective options. */
  options: Readonly<Record<string, unknown>>;
  /** Checked copies of state.db on this disk, the newest first; undefined while the disk does not tell. */
  copies: () => readonly { madeAtMs: EpochMs }[] | undefined;
  /** Newest lines of the service log. */
  recentLog: () => readonly string[];
  /** Secrets that must not appear anywhere in the report. */
  secrets: () => readonly string[];
}

/** One JSON document; every text in it went through `withoutSecrets`. */
export async function problemReport(parts: ReportOptions): Promise<string> {
  const { appliance, clock, host, metrics, version } = parts;
  const { serialNumber: _, ...facts } = host.facts();
  const status = appliance.status();
  const report = {
    made_at: formatTimestamp(clock.wallMs()),
    version,
    runtime: process.version,
    clock_is_set: clock.isSet(),
    host: facts,
    load: host.load(),
    options: parts.options,
    faults: appliance.faults(),
    status,
    integrity: {
      state_copies_checked_at: parts.copies()?.map(({ madeAtMs }) => formatTimestamp(madeAtMs)) ?? null,
    },
    metrics: (await metrics.text()).split('\n').filter((line) => !line.startsWith('#')),
    log: parts.recentLog(),
  };
  const known = parts.secrets();
  const clean = (key: string, value: unknown): unknown =>
    typeof value === 'string' && key !== 'made_at' ? withoutSecrets(value, known) : value;
  return `${JSON.stringify(report, clean, 2)}\n`;
}
