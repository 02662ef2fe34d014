/** One rule: its script, dry run and log. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isNotFound, remove } from '../api.ts';
import { useCheckedSave } from './checked-save.tsx';
import { DryRun } from '../parts/dry-run.tsx';
import { UnlessGone } from '../parts/gone.tsx';
import { LogView } from '../parts/log-view.tsx';
import { Outputs } from '../parts/outputs.tsx';
import { go } from '../route.ts';
import { may } from '../session.ts';
import { openStream } from '../stream.ts';
import { AskButton, Awaited, Button, Card, Form, Notice, PageHead, useStored } from '../ui.tsx';
import { Code } from '../ui/page-components.tsx';
import type { LogEntry, Rule } from '../shapes.ts';
import { dropDraft, keepDraft, readDraft } from './drafts.ts';
import {
  isSameText,
  readEngine,
  readRule,
  readRuleLog,
  ruleAddress,
  rulePage,
  type RuleText,
  saveRule,
  scriptOf,
  textOfRule,
} from './engine.ts';
import { RuleFields } from './fields.tsx';
import { RuleParameters } from './strategy-form.tsx';
import { RuleRuns } from './runs.tsx';
import { RuleBadge } from './state.tsx';
import { RuleVersions } from './versions.tsx';
import { say } from '../words/later.ts';

const LOG_PAGE = 50;
const REFRESH_MS = 3_000;
const BACK = { href: '#/rules', text: say.frame.rules };

export function RulePage({ name }: { name: string }) {
  // An answer to a request from before a save is about the older script.
  const [round, setRound] = useState(0);
  // Somebody else may give it another name.
  const id = useRef<string | undefined>(undefined);
  const { answer, error } = useStored(
    async () => {
      const [rule, engine] = await Promise.all([readRule(id.current ?? name), readEngine()]);
      id.current = rule.id;
      return { round, rule, isSuspended: engine.state === 'SUSPENDED' };
    },
    [name, round],
    REFRESH_MS,
  );
  const rule = answer?.rule;
  const isGone = rule !== undefined && isNotFound(error);
  return (
    <>
      <PageHead title={rule?.slug ?? name} back={BACK}>
        {rule && !isGone && (
          <RuleBadge rule={rule} isSuspended={answer.isSuspended} isKnown={error === undefined} />
        )}
        {isGone && <span class="badge">{say.values.status.DELETED}</span>}
      </PageHead>
      {!isGone && <Awaited answer={rule} error={error} />}
      {rule && (
        <UnlessGone isGone={isGone} text={say.rules.isDeleted} isKept={readDraft(rule.id) !== undefined}>
          {rule.strategy && (
            <RuleParameters rule={rule} made={rule.strategy} onSaved={() => setRound(round + 1)} />
          )}
          <Outputs ruleId={rule.id} />
          <div class="beside">
            <RuleForm
              rule={rule}
              stored={answer.round === round ? textOfRule(rule) : undefined}
              onSaved={() => setRound(round + 1)}
              key={rule.id}
            />
            {may('USER') && !isGone && (
              <div>
                <RuleRuns rule={rule} onChanged={() => setRound(round + 1)} />
                <RuleLogs rule={rule} />
              </div>
            )}
          </div>
          {may('USER') && !isGone && <RuleVersions rule={rule} onRestored={() => setRound(round + 1)} />}
        </UnlessGone>
      )}
    </>
  );
}

interface Typing {
  text: RuleText;
  /** The stored text when typing began. */
  base: RuleText;
  /** Grows when a script comes from elsewhere than the editor. */
  generation: number;
}

/** The input over the stored text; the browser keeps it until it is saved. */
function useRuleText(id: string, first: RuleText, stored: RuleText | undefined) {
  const [typing, setTyping] = useState<Typing>(() => {
    const draft = readDraft(id);
    return { text: draft?.text ?? first, base: draft?.base ?? first, generation: 0 };
  });
  const { text, base, generation } = typing;
  const isChanged = !isSameText(text, base);
  const isOther = stored !== undefined && !isSameText(stored, base);
  useLayoutEffect(() => {
    if (isChanged) keepDraft(id, { text, base });
    else dropDraft(id);
  }, [typing]);
  const replace = (by: RuleText): void =>
    setTyping((before) => ({ text: by, base: by, generation: before.generation + 1 }));
  useEffect(() => {
    if (isOther && !isChanged) replace(stored);
  }, [isOther, isChanged]);
  return {
    text,
    generation,
    isChanged,
    /** The version that another user saved while this one was typed. */
    theirs: isOther && isChanged ? stored : undefined,
    change: (part: Partial<RuleText>) =>
      setTyping((before) => ({ ...before, text: { ...before.text, ...part } })),
    replace,
    /** `sent` is stored as `saved`; what was typed meanwhile stays. */
    settle: (sent: RuleText, saved: RuleText) =>
      setTyping((before) =>
        isSameText(before.text, sent)
          ? { text: saved, base: saved, generation: before.generation + 1 }
          : { ...before, base: saved },
      ),
    /** Keeps the own text, to replace theirs. */
    keepOver: (over: RuleText) => setTyping((before) => ({ ...before, base: over })),
  };
}

function RuleForm({
  rule,
  stored,
  onSaved,
}: {
  rule: Rule;
  stored: RuleText | undefined;
  onSaved: () => void;
}) {
  const typing = useRuleText(rule.id, textOfRule(rule), stored);
  const { text, isChanged, theirs } = typing;
  const { action: saving, question } = useCheckedSave(text, async () => {
    const saved = textOfRule(await saveRule(rule, text));
    typing.settle(text, saved);
    onSaved();
    if (saved.slug !== rule.slug) go(rulePage(saved.slug));
  });
  const isOwner = may('OWNER');
  return (
    <Card>
      <Form
        action={saving}
        submit={say.rules.saveAndRun}
        done={say.rules.savedBeside}
        isIncomplete={theirs !== undefined}
        isReadOnly={!isOwner}
        isKept
        buttons={
          <Buttons
            rule={rule}
            isChanged={isChanged}
            onDiscard={() => typing.replace(stored ?? textOfRule(rule))}
          />
        }
      >
        {theirs && (
          <Theirs
            theirs={theirs}
            onTake={() => typing.replace(theirs)}
            onKeep={() => typing.keepOver(theirs)}
          />
        )}
        <RuleFields
          text={text}
          generation={typing.generation}
          onChange={typing.change}
          isReadOnly={!isOwner}
        />
      </Form>
      {question}
      {isChanged && !theirs && (
        <p class="hint" role="status">
          {say.rules.notSaved}
        </p>
      )}
      {isOwner && <DryRun script={scriptOf(text)} ruleId={rule.id} />}
    </Card>
  );
}

function Buttons({ rule, isChanged, onDiscard }: { rule: Rule; isChanged: boolean; onDiscard: () => void }) {
  return (
    <>
      <AskButton
        kind="danger"
        title={say.everywhere.deleteTitle(rule.slug)}
        text={say.rules.deleteText}
        confirm={say.everywhere.delete}
        run={() =>
          remove(ruleAddress(rule.id), () => {
            dropDraft(rule.id);
            go('#/rules');
          })
        }
      >
        {say.everywhere.deleteAsking}
      </AskButton>
      {isChanged && (
        <AskButton
          title={say.everywhere.discardTitle}
          text={say.rules.discardText}
          confirm={say.everywhere.throwAway}
          run={async () => onDiscard()}
        >
          {say.rules.throwAwayAsking}
        </AskButton>
      )}
    </>
  );
}

function Theirs({ theirs, onTake, onKeep }: { theirs: RuleText; onTake: () => void; onKeep: () => void }) {
  return (
    <Notice kind="warning">
      <p>{say.rules.somebodyElse}</p>
      <details>
        <summary>{say.rules.theySaved(theirs.slug)}</summary>
        <Code text={theirs.code} />
      </details>
      <div class="actions">
        <Button onClick={onKeep}>{say.rules.keepMine}</Button>
        <Button onClick={onTake}>{say.rules.takeTheirs}</Button>
      </div>
    </Notice>
  );
}

function RuleLogs({ rule }: { rule: Rule }) {
  return (
    <LogView
      nothing={say.rules.logNothing}
      source={{
        id: rule.id,
        pageSize: LOG_PAGE,
        listen: (onMessage, onOpen) =>
          openStream<LogEntry>(`${ruleAddress(rule.id)}/logs`, { onMessage, onOpen }),
        load: (severities, offset) =>
          readRuleLog(rule.id, `limit=${LOG_PAGE}&offset=${offset}&severity=${severities.join(',')}`),
      }}
    />
  );
}
