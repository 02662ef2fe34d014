/** Rules of the site: Lua scripts that watch devices and command them. */
import { useEffect, useState } from 'preact/hooks';
import { call, path } from '../api.ts';
import { DryRun } from '../parts/dry-run.tsx';
import { LogView } from '../parts/log-view.tsx';
import { decodeScript, encodeScript } from '../script-text.ts';
import { openStream } from '../stream.ts';
import { go } from '../route.ts';
import { may } from '../session.ts';
import {
  Button,
  Card,
  Confirm,
  Empty,
  ErrorNotice,
  Field,
  Form,
  Input,
  Loading,
  Notice,
  PageHead,
  Select,
  useAction,
  useAnswer,
} from '../ui.tsx';
import type { Engine, LogEntry, Rule, RuleScript } from '../shapes.ts';

const ENGINE = '/v3/site/rule_engine';
const RUNTIMES = [
  { value: 'V3', text: 'V3: the script runs on and waits for events' },
  { value: 'V1', text: 'V1: the script is run at an interval' },
];
const SAMPLE = "enapter.log('hello from a rule')\n";
const LOG_PAGE = 50;

const REFRESH_MS = 3_000;

/** Whether a rule runs changes by itself, and nobody tells. */
function useRefresh(again: () => void): void {
  useEffect(() => {
    const timer = setInterval(again, REFRESH_MS);
    return () => clearInterval(timer);
  }, []);
}

function StateBadge({ rule }: { rule: Rule }) {
  if (rule.state === 'STARTED') return <span class="badge success">Running</span>;
  return <span class="badge">{rule.disabled ? 'Disabled' : 'Stopped'}</span>;
}

export function RulesPage() {
  const rules = useAnswer(() => call<{ rules: Rule[] }>('GET', `${ENGINE}/rules`), []);
  const engine = useAnswer(() => call<{ engine: Engine }>('GET', ENGINE), []);
  const list = rules.answer?.rules.toSorted((a, b) => a.slug.localeCompare(b.slug, 'en', { numeric: true }));
  useRefresh(rules.again);
  const isSuspended = engine.answer?.engine.state === 'SUSPENDED';
  const switching = useAction(async () => {
    await call('POST', `${ENGINE}/${isSuspended ? 'resume' : 'suspend'}`);
    engine.again();
    rules.again();
  });
  return (
    <>
      <PageHead title="Rules">
        {may('OWNER') && engine.answer && (
          <Button disabled={switching.isBusy} onClick={() => void switching.start()}>
            {isSuspended ? 'Let rules run again' : 'Suspend all rules'}
          </Button>
        )}
        {may('OWNER') && (
          <a class="button primary" href="#/new-rule">
            New rule
          </a>
        )}
      </PageHead>
      <ErrorNotice error={rules.error ?? engine.error ?? switching.error} />
      {isSuspended && (
        <Notice kind="warning">
          <p>All rules are suspended; none runs, after a restart either.</p>
        </Notice>
      )}
      {!list && rules.error === undefined && <Loading />}
      {list?.length === 0 && (
        <Empty title="No rule yet">
          <p>A rule is a Lua script on the gateway that watches devices and commands them.</p>
        </Empty>
      )}
      {list && list.length > 0 && (
        <Card>
          <ul class="rows">
            {list.map((rule) => (
              <RuleRow rule={rule} onChanged={rules.again} key={rule.id} />
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

function RuleRow({ rule, onChanged }: { rule: Rule; onChanged: () => void }) {
  const switching = useAction(async () => {
    await call('POST', `${ENGINE}${path`/rules/${rule.id}`}/${rule.disabled ? 'enable' : 'disable'}`);
    onChanged();
  });
  return (
    <li>
      <span>
        <a href={`#/rules/${encodeURIComponent(rule.slug)}`}>
          <b>{rule.slug}</b>
        </a>
        <small>
          Runtime {rule.script.runtime_version}
          {rule.script.exec_interval !== undefined && `, every ${rule.script.exec_interval}`}
        </small>
        <ErrorNotice error={switching.error} />
      </span>
      <span class="actions">
        <StateBadge rule={rule} />
        {may('OWNER') && (
          <Button disabled={switching.isBusy} onClick={() => void switching.start()}>
            {rule.disabled ? 'Enable' : 'Disable'}
          </Button>
        )}
      </span>
    </li>
  );
}

/** Without a name: a new one. */
export function RulePage({ name }: { name: string | undefined }) {
  const { answer, error, again } = useAnswer(
    () =>
      name === undefined
        ? Promise.resolve({ rule: undefined })
        : call<{ rule: Rule | undefined }>('GET', `${ENGINE}${path`/rules/${name}`}`),
    [name],
  );
  useRefresh(again);
  return (
    <>
      <PageHead title={name ?? 'New rule'} back={{ href: '#/rules', text: 'Rules' }}>
        {answer?.rule && <StateBadge rule={answer.rule} />}
      </PageHead>
      <ErrorNotice error={error} />
      {answer ? <RuleForm rule={answer.rule} onChanged={again} /> : error === undefined && <Loading />}
      {answer?.rule && may('USER') && <RuleLogs rule={answer.rule} />}
    </>
  );
}

function RuleForm({ rule, onChanged }: { rule: Rule | undefined; onChanged: () => void }) {
  const [slug, setSlug] = useState(rule?.slug ?? '');
  const [code, setCode] = useState(rule ? decodeScript(rule.script.code) : SAMPLE);
  const [runtime, setRuntime] = useState<RuleScript['runtime_version']>(rule?.script.runtime_version ?? 'V3');
  const [execInterval, setExecInterval] = useState(rule?.script.exec_interval ?? '');
  const [isDone, setDone] = useState(false);
  const script: RuleScript = {
    code: encodeScript(code),
    runtime_version: runtime,
    ...(runtime === 'V1' && { exec_interval: execInterval }),
  };
  const saving = useAction(async () => {
    setDone(false);
    if (!rule) {
      await call('POST', `${ENGINE}/rules`, { slug, script });
      go(`#/rules/${encodeURIComponent(slug)}`);
      return;
    }
    const address = `${ENGINE}${path`/rules/${rule.id}`}`;
    await call('POST', `${address}/update_script`, { script });
    if (slug !== rule.slug) {
      await call('PATCH', address, { slug });
      go(`#/rules/${encodeURIComponent(slug)}`);
    }
    setDone(true);
    onChanged();
  });
  return (
    <Card>
      <Form onSubmit={saving.start}>
        <fieldset disabled={!may('OWNER')} class="plain">
          <Field label="Name">
            <Input
              value={slug}
              onValue={setSlug}
              name="slug"
              required
              spellcheck={false}
              placeholder="night-charge"
            />
          </Field>
          <Field label="Runtime">
            <Select
              value={runtime}
              onValue={(value) => setRuntime(value === 'V1' ? 'V1' : 'V3')}
              choices={RUNTIMES}
              name="runtime"
            />
          </Field>
          {runtime === 'V1' && (
            <Field label="Interval" hint="Such as 500ms, 10s or 1m; nothing means 1s.">
              <Input value={execInterval} onValue={setExecInterval} name="interval" />
            </Field>
          )}
          <ScriptField code={code} onCode={setCode} />
        </fieldset>
        <ErrorNotice error={saving.error} />
        {isDone && <Notice kind="success">Saved. What it logs appears below.</Notice>}
        {may('OWNER') && (
          <div class="actions end">
            {rule && <DeleteButton rule={rule} />}
            <Button kind="primary" type="submit" disabled={saving.isBusy}>
              {rule ? 'Save and run' : 'Make rule'}
            </Button>
          </div>
        )}
      </Form>
      {may('OWNER') && <DryRun script={script} ruleId={rule?.id} />}
    </Card>
  );
}

/** Tab indents; Escape and then Tab leaves, so that the keyboard is not caught. */
function ScriptField({ code, onCode }: { code: string; onCode: (code: string) => void }) {
  const [mayLeave, setMayLeave] = useState(false);
  return (
    <Field
      label="Script (Lua)"
      hint="A rule may run every command of every device, those above your own role included. Tab indents; Esc and then Tab leaves."
    >
      <textarea
        class="script"
        name="code"
        value={code}
        rows={16}
        spellcheck={false}
        autocapitalize="off"
        onInput={(event) => onCode(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Tab') {
            setMayLeave(event.key === 'Escape');
            return;
          }
          if (mayLeave || event.shiftKey) return;
          event.preventDefault();
          event.currentTarget.setRangeText(
            '  ',
            event.currentTarget.selectionStart,
            event.currentTarget.selectionEnd,
            'end',
          );
          onCode(event.currentTarget.value);
        }}
      />
    </Field>
  );
}

function DeleteButton({ rule }: { rule: Rule }) {
  const [isAsking, setAsking] = useState(false);
  const deleting = useAction(async () => {
    await call('DELETE', `${ENGINE}${path`/rules/${rule.id}`}`);
    go('#/rules');
  });
  return (
    <>
      <Button kind="danger" onClick={() => setAsking(true)}>
        Delete…
      </Button>
      {isAsking && (
        <Confirm
          title={`Delete ${rule.slug}?`}
          text="Its script and its log are deleted. This cannot be undone."
          confirm="Delete"
          isDangerous
          isBusy={deleting.isBusy}
          error={deleting.error}
          onConfirm={() => void deleting.start()}
          onClose={() => setAsking(false)}
        />
      )}
    </>
  );
}

function RuleLogs({ rule }: { rule: Rule }) {
  const address = `${ENGINE}${path`/rules/${rule.id}`}/logs`;
  return (
    <LogView
      nothing="What the rule logs appears here as it arrives."
      source={{
        id: rule.id,
        pageSize: LOG_PAGE,
        listen: (listener) => openStream<LogEntry>(address, { onMessage: listener }),
        load: async (severities, offset) => {
          const query = `limit=${LOG_PAGE}&offset=${offset}&severity=${severities.join(',')}`;
          return (await call<{ logs: LogEntry[] }>('GET', `${address}?${query}`)).logs;
        },
      }}
    />
  );
}
