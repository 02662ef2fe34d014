/** Automatic backups: when, where, and the last one that was verified. */
import { call, callFor } from '../api.ts';
import { changesOf } from '../changes.ts';
import { bytesText, momentText } from '../format.ts';
import { differs, NewPassword, NOTHING_TYPED } from '../parts/new-password.tsx';
import { may } from '../session.ts';
import type { BackupPlan } from '../shapes.ts';
import {
  Awaited,
  Button,
  Card,
  Check,
  ErrorNotice,
  Form,
  InputField,
  Notice,
  SecretField,
  SelectField,
  useAction,
  useStored,
} from '../ui.tsx';
import { Code, Fact } from '../ui/page-components.tsx';
import { type useTyped, useTypedOver } from '../ui/typed.ts';
import { say } from '../words/later.ts';

const PLAN = '/v3/backup/plan';
const REFRESH_MS = 30_000;
const RUNNING_REFRESH_MS = 1_000;
const SCHEDULES = [
  { value: 'OFF', text: say.box.onlyWhenAsked },
  { value: 'DAILY', text: say.box.everyDay },
  { value: 'WEEKLY', text: say.box.everyWeek },
];

export function BackupPlanCard() {
  const { answer, error } = useStored(
    () => callFor<BackupPlan>('backup_plan', 'GET', PLAN),
    [],
    (plan) => (plan?.is_running === true ? RUNNING_REFRESH_MS : REFRESH_MS),
  );
  return (
    <Card
      title={say.box.planTitle}
      data-test="backup-plan"
      actions={answer && may('INSTALLER') && <RunNow plan={answer} />}
    >
      <Awaited answer={answer} error={error} />
      {answer && (
        <>
          <Outcome plan={answer} />
          <PlanForm plan={answer} />
        </>
      )}
    </Card>
  );
}

function RunNow({ plan }: { plan: BackupPlan }) {
  const running = useAction(() => call('POST', `${PLAN}/run`));
  return (
    <>
      <ErrorNotice error={running.error} />
      <Button action={running} disabled={plan.is_running || plan.target === null || !plan.has_password}>
        {plan.is_running || running.isBusy ? say.box.backupRunning : say.box.makeOne}
      </Button>
    </>
  );
}

function Outcome({ plan }: { plan: BackupPlan }) {
  const { last_good_at: goodAt, last_good_name: name, last_good_bytes: bytes, last_error: fault } = plan;
  return (
    <>
      {fault !== null && plan.last_tried_at !== null && (
        <Notice kind="warning">
          {say.box.lastTryFailed(momentText(plan.last_tried_at), say.frame.said(fault))}
        </Notice>
      )}
      <dl class="facts">
        <Fact name={say.box.lastGood}>
          {goodAt === null ? say.box.noneYet : momentText(goodAt)}
          {goodAt !== null && (
            <small>
              {' '}
              {name}
              {bytes !== null && `, ${bytesText(bytes)}`}
            </small>
          )}
        </Fact>
      </dl>
      <p class="hint">{say.box.eachIsCompared}</p>
    </>
  );
}

const isWebdav = (target: string): boolean => /^https?:/.test(target);

function typedOf(plan: BackupPlan) {
  return {
    schedule: plan.schedule as string,
    at: plan.at,
    target: plan.target ?? '',
    target_username: plan.target_username ?? '',
    target_password: '',
    hasHistory: plan.include_history,
    keep: String(plan.keep),
    alert_after_days: String(plan.alert_after_days),
    sealing: NOTHING_TYPED,
    isSealingAnew: false,
  };
}

type Typed = ReturnType<typeof typedOf>;

function bodyOf(typed: Typed): Record<string, unknown> {
  const target = typed.target.trim();
  const { target_username: username, target_password: targetPassword, sealing } = typed;
  return {
    schedule: typed.schedule,
    at: typed.at,
    target: target === '' ? null : target,
    target_username: isWebdav(target) && username !== '' ? username : null,
    ...(targetPassword !== '' && { target_password: targetPassword }),
    ...(sealing.password !== '' && { password: sealing.password }),
    include_history: typed.hasHistory,
    keep: Number(typed.keep),
    alert_after_days: Number(typed.alert_after_days),
  };
}

function PlanForm({ plan }: { plan: BackupPlan }) {
  const controls = useTypedOver(typedOf(plan), plan);
  const { typed, take, beside, change, bound } = controls;
  const action = useAction(async () => {
    const theirs = typedOf(await callFor('backup_plan', 'GET', PLAN));
    const body = changesOf(bodyOf(theirs), bodyOf(beside(theirs)));
    take(typedOf(await callFor('backup_plan', 'PATCH', PLAN, body)));
  });
  return (
    <Form
      action={action}
      submit={say.everywhere.save}
      done={say.box.planSaved}
      isIncomplete={differs(typed.sealing)}
      isReadOnly={!may('INSTALLER')}
    >
      <div class="pair">
        <SelectField label={say.box.when} {...bound('schedule')} choices={SCHEDULES} />
        <InputField
          label={say.everywhere.at}
          hint={say.box.timeOfSite}
          type="time"
          {...bound('at')}
          required
        />
      </div>
      <Whereto plan={plan} controls={controls} />
      <Sealing plan={plan} controls={controls} />
      <div class="pair">
        <InputField
          label={say.box.backupsLeft}
          hint={say.box.oldestGo}
          type="number"
          min={1}
          {...bound('keep')}
          required
        />
        <InputField
          label={say.box.alertAfter}
          hint={say.box.withoutGood}
          type="number"
          min={1}
          {...bound('alert_after_days')}
          required
        />
      </div>
      <Check value={typed.hasHistory} onValue={(hasHistory) => change({ hasHistory })}>
        {say.box.withHistory}
      </Check>
    </Form>
  );
}

interface PartProps {
  plan: BackupPlan;
  controls: ReturnType<typeof useTyped<Typed>>;
}

function Whereto({ plan, controls: { typed, bound } }: PartProps) {
  return (
    <>
      <InputField
        label={say.box.whereto}
        hint={say.box.wheretoHint}
        {...bound('target')}
        required={typed.schedule !== 'OFF'}
        spellcheck={false}
        placeholder="/media/backup"
      />
      {isWebdav(typed.target) && (
        <div class="pair">
          <InputField label={say.box.userThere} {...bound('target_username')} autocomplete="off" />
          <SecretField
            label={say.box.passwordThere}
            isKept={plan.has_target_password && typed.target === plan.target}
            {...bound('target_password')}
          />
        </div>
      )}
      {plan.sftp_public_key !== null && (
        <>
          <p class="hint">{say.box.authorizedKeys}</p>
          <Code text={plan.sftp_public_key} />
        </>
      )}
    </>
  );
}

function Sealing({ plan, controls: { typed, setTyped, change } }: PartProps) {
  if (typed.isSealingAnew || (!plan.has_password && typed.schedule !== 'OFF'))
    return (
      <NewPassword
        label={say.box.backupsPassword}
        hint={say.box.backupsPasswordHint}
        prefix="plan_"
        typed={typed.sealing}
        onTyped={(type) => setTyped((before) => ({ ...before, sealing: type(before.sealing) }))}
      />
    );
  if (!plan.has_password) return null;
  return (
    <p class="hint">
      {say.box.sealed}{' '}
      <button type="button" class="link" onClick={() => change({ isSealingAnew: true })}>
        {say.box.anotherPassword}
      </button>
    </p>
  );
}
