/** Effects that a script would have had on the telemetry of the last day or days; nothing is commanded. */
import { useState } from 'preact/hooks';
import { callFor } from '../api.ts';
import { momentText } from '../format.ts';
import { gatewayNowMs } from '../gateway-time.ts';
import { loadDevice } from '../live.ts';
import { Button, Empty, ErrorNotice, Notice, Select, useAction } from '../ui.tsx';
import type { DryRunReport, RuleScript } from '../shapes.ts';
import { say } from '../words/later.ts';
import { DryRunPicture } from './dry-run-picture.tsx';

const DRY_RUN = '/v3/site/rule_engine/rules/dry_run';
const DAY_S = 86_400;
const PERIODS = ([1, 3, 7] as const).map((days) => ({ value: String(days), text: say.dryRun.days[days] }));

export function DryRun({ script, ruleId }: { script: RuleScript; ruleId: string | undefined }) {
  const [days, setDays] = useState('1');
  const [report, setReport] = useState<(DryRunReport & { of: string }) | undefined>(undefined);
  const of = JSON.stringify(script);
  const trying = useAction(async () => {
    setReport(undefined);
    const nowS = gatewayNowMs() / 1_000;
    const body = {
      script,
      from: nowS - Number(days) * DAY_S,
      to: nowS,
      ...(ruleId !== undefined && { rule_id: ruleId }),
    };
    const answer = await callFor<DryRunReport>('dry_run', 'POST', DRY_RUN, body, 'reads');
    // For their names; a device that was deleted shows its id.
    const deviceIds = new Set([...answer.entries, ...answer.read].flatMap(({ device_id: id }) => id ?? []));
    await Promise.allSettled([...deviceIds].map((id) => loadDevice(id)));
    setReport({ ...answer, of });
  });
  return (
    <div data-test="dry-run">
      <div class="actions">
        <Button action={trying}>{trying.isBusy ? say.dryRun.trying : say.dryRun.tryOn}</Button>
        <Select value={days} onValue={setDays} choices={PERIODS} aria-label={say.dryRun.period} />
      </div>
      <ErrorNotice error={trying.error} />
      {report && report.of !== of && <Notice kind="warning">{say.dryRun.changedSince}</Notice>}
      {report && <Result report={report} />}
    </div>
  );
}

function Result({ report }: { report: DryRunReport }) {
  const { entries, end } = report;
  return (
    <>
      <Notice kind={end === 'period_ended' || end === 'finished' ? 'success' : 'warning'}>
        {say.dryRun.end[end]} {say.dryRun.cameTo(momentText(report.ended_at))}
        {report.truncated && ` ${say.dryRun.truncated}`}
      </Notice>
      {entries.length === 0 && <Empty title={say.dryRun.nothing}>{say.dryRun.nothingText}</Empty>}
      <DryRunPicture report={report} />
    </>
  );
}
