/** The last runs of a rule: what they saw and what they did. */
import { useState } from 'preact/hooks';
import { call, callForList } from '../api.ts';
import { clockText, momentText } from '../format.ts';
import { deviceIds, loadDevice } from '../live.ts';
import { may } from '../session.ts';
import { Awaited, Button, Card, Empty, ErrorNotice, Notice, useAction, useStored } from '../ui.tsx';
import type { Rule, RuleRun } from '../shapes.ts';
import { say } from '../words/later.ts';
import { ruleAddress } from './engine.ts';
import { runText, stepText } from './run-in-words.ts';

const REFRESH_MS = 5_000;
/** More would push the log off the page; all of them are in the API. */
const PAGE = 12;

/** Runs with the manifests of their devices, which have the names of attributes and commands. */
async function readRuns(rule: Rule): Promise<RuleRun[]> {
  const { items } = await callForList<RuleRun>(`${ruleAddress(rule.id)}/runs`, 'runs', PAGE);
  const ids = new Set(items.flatMap(({ steps }) => steps.flatMap(({ device_id: id }) => id ?? [])));
  await Promise.allSettled([...ids].map((id) => loadDevice(id)));
  return items;
}

export function RuleRuns({ rule, onChanged }: { rule: Rule; onChanged: () => void }) {
  const [made, setMade] = useState(0);
  const { answer, error } = useStored(() => readRuns(rule), [rule.id, made], REFRESH_MS);
  const [isRun, setRun] = useState(false);
  const running = useAction(async () => {
    setRun(false);
    await call('POST', `${ruleAddress(rule.id)}/run`);
    setRun(true);
    setMade((before) => before + 1);
  });
  const switching = useAction(async () => {
    await call('PATCH', ruleAddress(rule.id), { traced: rule.traced !== true });
    onChanged();
  });
  // Names of devices stand in the sentences.
  void deviceIds.value;
  return (
    <Card
      title={say.rules.runs}
      data-test="runs"
      actions={
        <>
          {may('OWNER') && (
            <Button action={running}>{running.isBusy ? say.rules.runningNow : say.rules.runNow}</Button>
          )}
          {may('OWNER') && (
            <Button isSwitch action={switching}>
              {rule.traced ? say.rules.traceOff : say.rules.traceOn}
            </Button>
          )}
        </>
      }
    >
      <ErrorNotice error={running.error ?? switching.error} />
      {isRun && <Notice kind="success">{say.rules.hasRun}</Notice>}
      <Awaited answer={answer} error={error} />
      {answer?.length === 0 && (
        <Empty title={say.rules.noRuns}>{rule.traced ? say.rules.noRunsYet : say.rules.notTraced}</Empty>
      )}
      {answer?.map((run) => (
        <Run run={run} key={`${run.started_at} ${run.cause} ${run.steps.length}`} />
      ))}
    </Card>
  );
}

function Run({ run }: { run: RuleRun }) {
  const { started_at: at, duration_ms: durationMs, cause, steps, left_out: leftOut, error } = run;
  return (
    <details class="execution-item">
      <summary>
        <time dateTime={at} title={momentText(at)}>
          {clockText(at)}
        </time>{' '}
        <span class={error === undefined ? undefined : 'last-error'}>{runText(run)}</span>
        <small>
          {say.rules.cause[cause]}
          {durationMs === undefined && ` · ${say.rules.goesOn}`}
        </small>
      </summary>
      {leftOut > 0 && <p class="hint">{say.rules.stepsLeftOut(leftOut)}</p>}
      <ul>
        {steps.map((step, index) => (
          <li key={index}>
            <small>{clockText(step.at)}</small> {stepText(step)}{' '}
            <small>
              {step.duration_ms > 0 && say.fieldTrace.traceTook(step.duration_ms)}{' '}
              {step.is_cut && say.rules.cut}
            </small>
          </li>
        ))}
      </ul>
    </details>
  );
}
