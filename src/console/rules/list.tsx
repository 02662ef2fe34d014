/** Rules of the site: scripts that watch devices and command them. */
import type { ComponentProps } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { momentText } from '../format.ts';
import { deviceIds } from '../live.ts';
import { may } from '../session.ts';
import {
  Awaited,
  Button,
  Card,
  Empty,
  ErrorNotice,
  Notice,
  PageHead,
  useAction,
  useAnswer,
  useRefresh,
  useStored,
} from '../ui.tsx';
import type { LogEntry, Rule } from '../shapes.ts';
import { readEngine, readRuleLog, readRules, rulePage, switchEngine, switchRule } from './engine.ts';
import { ruleInWords } from './in-words.ts';
import { isAtFault, RuleBadge } from './state.tsx';
import { readStrategies } from './strategies.ts';
import { say } from '../words/later.ts';

/** No message tells when a rule starts or fails. */
const REFRESH_MS = 3_000;
/** Two requests for each rule in sight. */
const LOG_REFRESH_MS = 30_000;

export function RulesPage() {
  const { answer, error } = useStored(
    async () => {
      const [engine, rules] = await Promise.all([readEngine(), readRules()]);
      return { isSuspended: engine.state === 'SUSPENDED', rules };
    },
    [],
    REFRESH_MS,
  );
  const isSuspended = answer?.isSuspended ?? false;
  const isMade = answer?.rules.some(({ strategy }) => strategy !== undefined) === true;
  const strategies = useAnswer(() => (isMade ? readStrategies() : Promise.resolve([])), [isMade]);
  // Names of devices stand in the sentences.
  void deviceIds.value;
  const switching = useAction(() => switchEngine(isSuspended ? 'resume' : 'suspend'));
  return (
    <>
      <PageHead title={say.frame.rules}>
        {may('OWNER') && answer && (
          <Button isSwitch action={switching}>
            {isSuspended ? say.rules.letRun : say.rules.suspendAll}
          </Button>
        )}
        {may('OWNER') && (
          <a class="button primary" href="#/new-rule">
            {say.rules.newRule}
          </a>
        )}
      </PageHead>
      <Awaited answer={answer} error={error ?? switching.error} />
      {isSuspended && <Notice kind="warning">{say.rules.allSuspended}</Notice>}
      {answer?.rules.length === 0 && (
        <Empty title={say.rules.noneYet}>
          <p>{say.rules.noneYetText}</p>
          {may('OWNER') && (
            <a class="button" href="#/new-rule">
              {say.rules.seeTemplates}
            </a>
          )}
        </Empty>
      )}
      {answer && answer.rules.length > 0 && (
        <Card>
          <ul class="rows">
            {answer.rules.map((rule) => (
              <RuleRow
                rule={rule}
                inWords={ruleInWords(rule, strategies.answer ?? [])}
                isSuspended={isSuspended}
                isKnown={error === undefined}
                key={rule.id}
              />
            ))}
          </ul>
        </Card>
      )}
    </>
  );
}

function RuleRow({
  inWords,
  ...shown
}: ComponentProps<typeof RuleBadge> & {
  /** The rule as a sentence; undefined for a script. */
  inWords: string | undefined;
}) {
  const { rule } = shown;
  const switching = useAction(() => switchRule(rule.id, rule.disabled ? 'enable' : 'disable'));
  const { runtime_version: runtime, exec_interval: interval } = rule.script;
  const row = useRef<HTMLLIElement>(null);
  const isSeen = useSeen(row);
  return (
    <li ref={row}>
      <span>
        <a href={rulePage(rule.slug)}>
          <b>{inWords ?? rule.slug}</b>
        </a>
        <small>{inWords === undefined ? say.rules.runtimeOf(runtime, interval) : rule.slug}</small>
        {isSeen && may('USER') && <LastWords rule={rule} />}
        <ErrorNotice error={switching.error} />
      </span>
      <span class="actions">
        <RuleBadge {...shown} />
        {may('OWNER') && (
          <Button isSwitch action={switching}>
            {rule.disabled ? say.everywhere.on : say.everywhere.off}
          </Button>
        )}
      </span>
    </li>
  );
}

/** True once the element was in sight: in a long list, only rows that were seen are read. */
function useSeen(element: { current: Element | null }): boolean {
  const [isSeen, setSeen] = useState(false);
  useEffect(() => {
    const observer = new IntersectionObserver((entries) => {
      if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
      setSeen(true);
      observer.disconnect();
    });
    if (element.current) observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return isSeen;
}

/** Its last log entry and last error, read again when its state changes. */
function LastWords({ rule }: { rule: Rule }) {
  const { answer, refresh } = useAnswer(async () => {
    const [logs, errors] = await Promise.all([
      readRuleLog(rule.id, 'limit=1'),
      readRuleLog(rule.id, 'limit=1&severity=error'),
    ]);
    return { log: logs.at(-1), error: errors.at(-1) };
  }, [rule.id, rule.state, rule.starting, rule.broken, rule.restarts_at]);
  useRefresh(refresh, LOG_REFRESH_MS);
  if (!answer) return null;
  const { log, error } = answer;
  return (
    <>
      {log && log.severity !== 'error' && <small>{say.rules.lastLog(wordsOf(log))}</small>}
      {error && (
        <small class={isAtFault(rule) ? 'last-error' : undefined}>
          {say.rules.lastError(wordsOf(error))}
        </small>
      )}
    </>
  );
}

function wordsOf({ received_at: at, message }: LogEntry): string {
  return `${momentText(at)}: ${say.frame.logged(message).split('\n')[0]}`;
}
