/** What a script would have done on the telemetry of the last day; nothing is commanded. */
import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { momentText } from '../format.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { liveDevice, loadDevice } from '../live.ts';
import { Button, Empty, ErrorNotice, Notice, Select, useAction } from '../ui.tsx';
import type { DryRunEntry, DryRunReport, RuleScript } from '../shapes.ts';

const DRY_RUN = '/v3/site/rule_engine/rules/dry_run';
const DAY_S = 86_400;
const PERIODS = [
  { value: '1', text: 'the last 24 hours' },
  { value: '3', text: 'the last 3 days' },
  { value: '7', text: 'the last 7 days' },
];

const ENDS: Readonly<Record<DryRunReport['end'], string>> = {
  period_ended: 'The script went through the whole time.',
  finished: 'The script had nothing left to do.',
  failed: 'The script could not go on.',
  limit_reached: 'The script takes too long to be tried for the whole time.',
};

export function DryRun({ script, ruleId }: { script: RuleScript; ruleId: string | undefined }) {
  const [days, setDays] = useState('1');
  const [report, setReport] = useState<DryRunReport | undefined>(undefined);
  const trying = useAction(async () => {
    setReport(undefined);
    const nowS = gatewayNowMs() / 1_000;
    const body = {
      script,
      from: nowS - Number(days) * DAY_S,
      to: nowS,
      ...(ruleId !== undefined && { rule_id: ruleId }),
    };
    const { dry_run: answer } = await call<{ dry_run: DryRunReport }>('POST', DRY_RUN, body, 'reads');
    // For their names; one that is not there any more shows its id.
    const deviceIds = new Set(answer.entries.flatMap(({ device_id: id }) => id ?? []));
    await Promise.allSettled([...deviceIds].map((id) => loadDevice(id)));
    setReport(answer);
  });
  return (
    <div data-test="dry-run">
      <div class="actions">
        <Button disabled={trying.isBusy} onClick={() => void trying.start()}>
          {trying.isBusy ? 'Trying…' : 'Try on'}
        </Button>
        <Select value={days} onValue={setDays} choices={PERIODS} aria-label="Time that was recorded" />
      </div>
      <ErrorNotice error={trying.error} />
      {report && <Result report={report} />}
    </div>
  );
}

function Result({ report }: { report: DryRunReport }) {
  const { entries, end } = report;
  return (
    <>
      <Notice kind={end === 'period_ended' || end === 'finished' ? 'success' : 'warning'}>
        <p>
          {ENDS[end]} It came to {momentText(report.ended_at)}. Nothing was commanded or stored.
          {report.truncated && ' Not all that it did is listed.'}
        </p>
      </Notice>
      {entries.length === 0 ? (
        <Empty title="It did nothing">
          <p>On what was measured in this time, the script has nothing to say or to command.</p>
        </Empty>
      ) : (
        <ol class="log">
          {entries.map((entry, index) => (
            <li key={index}>
              <time>{momentText(entry.timestamp)}</time>
              <span class={`severity ${severityOf(entry)}`}>{entry.kind}</span>
              <span class="message">{textOf(entry)}</span>
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

function severityOf(entry: DryRunEntry): string {
  if (entry.kind === 'error' || entry.error !== undefined) return 'error';
  if (entry.kind === 'restart') return 'warning';
  return entry.severity ?? 'info';
}

function textOf(entry: DryRunEntry): string {
  switch (entry.kind) {
    case 'command': {
      const name = liveDevice(entry.device_id ?? '')?.device.name ?? entry.device_id;
      const refusal = entry.error === undefined ? '' : `: ${entry.error}`;
      return `${name}: ${entry.name} ${JSON.stringify(entry.arguments)}${refusal}`;
    }
    case 'storage':
      return `${entry.store} ${entry.key} ${entry.value === undefined ? 'removed' : `= ${entry.value}`}`;
    case 'http':
      return `${entry.method} ${entry.url} (not sent)`;
    case 'restart':
      return `starts again in ${entry.after}`;
    default:
      return entry.message ?? '';
  }
}
