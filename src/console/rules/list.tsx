/** Rules of the site: scripts that watch devices and command them. */
import { momentText } from '../format.ts';
import { may } from '../session.ts';
import {
  Button,
  Card,
  Empty,
  ErrorNotice,
  Loading,
  Notice,
  PageHead,
  useAction,
  useAnswer,
  useRefresh,
} from '../ui.tsx';
import type { Rule } from '../shapes.ts';
import { readEngine, readRuleLog, readRules, rulePage, switchEngine, switchRule } from './engine.ts';
import { isAtFault, RuleBadge } from './state.tsx';

/** Whether a rule runs changes by itself, and nobody tells. */
const REFRESH_MS = 3_000;

export function RulesPage() {
  const { answer, error, again } = useAnswer(async () => {
    const [engine, rules] = await Promise.all([readEngine(), readRules()]);
    return { isSuspended: engine.state === 'SUSPENDED', rules };
  }, []);
  useRefresh(again, REFRESH_MS);
  const isSuspended = answer?.isSuspended ?? false;
  const switching = useAction(() => switchEngine(isSuspended ? 'resume' : 'suspend').then(again));
  return (
    <>
      <PageHead title="Rules">
        {may('OWNER') && answer && (
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
      <ErrorNotice error={error ?? switching.error} />
      {isSuspended && (
        <Notice kind="warning">
          <p>All rules are suspended; none runs, after a restart either.</p>
        </Notice>
      )}
      {!answer && error === undefined && <Loading />}
      {answer?.rules.length === 0 && (
        <Empty title="No rule yet">
          <p>A rule watches devices and commands them, by itself, on the gateway.</p>
        </Empty>
      )}
      {answer && answer.rules.length > 0 && (
        <Card>
          <ul class="rows">
            {answer.rules.map((rule) => (
              <RuleRow rule={rule} isSuspended={isSuspended} onChanged={again} key={rule.id} />
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

function RuleRow({
  rule,
  isSuspended,
  onChanged,
}: {
  rule: Rule;
  isSuspended: boolean;
  onChanged: () => void;
}) {
  const switching = useAction(() =>
    switchRule(rule.id, rule.disabled ? 'enable' : 'disable').then(onChanged),
  );
  const { runtime_version: runtime, exec_interval: interval } = rule.script;
  return (
    <li>
      <span>
        <a href={rulePage(rule.slug)}>
          <b>{rule.slug}</b>
        </a>
        <small>
          Runtime {runtime}
          {interval !== undefined && `, every ${interval}`}
        </small>
        {isAtFault(rule) && may('USER') && <LastError rule={rule} />}
        <ErrorNotice error={switching.error} />
      </span>
      <span class="actions">
        <RuleBadge rule={rule} isSuspended={isSuspended} />
        {may('OWNER') && (
          <Button disabled={switching.isBusy} onClick={() => void switching.start()}>
            {rule.disabled ? 'Enable' : 'Disable'}
          </Button>
        )}
      </span>
    </li>
  );
}

/** Asked for those at fault only, again when they fail again. */
function LastError({ rule }: { rule: Rule }) {
  const { answer } = useAnswer(
    () => readRuleLog(rule.id, 'limit=1&severity=error'),
    [rule.id, rule.restarts_at],
  );
  const last = answer?.at(-1);
  if (!last) return null;
  return (
    <small class="last-error">
      {momentText(last.received_at)}: {last.message.split('\n')[0]}
    </small>
  );
}
