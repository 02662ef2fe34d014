/** A new rule: from a form, a template, or nothing. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { call } from '../api.ts';
import { words } from '../format.ts';
import { useCheckedSave } from './checked-save.tsx';
import { DryRun } from '../parts/dry-run.tsx';
import { go } from '../route.ts';
import { may } from '../session.ts';
import { AskButton, Awaited, Card, Empty, ErrorNotice, Form, Notice, PageHead, useAnswer } from '../ui.tsx';
import { dropDraft, keepDraft, readDraft } from './drafts.ts';
import { createRule, rulePage, type RuleText, scriptOf } from './engine.ts';
import { RuleFields } from './fields.tsx';
import { inWords, readStrategies, strategyPage } from './strategies.ts';
import { NewStrategyRule } from './strategy-form.tsx';
import { say } from '../words/later.ts';

const EMPTY: RuleText = { slug: '', code: "enapter.log('hello from a rule')\n", runtime: 'V3', interval: '' };
/** The drafts of existing rules are named by their ids. */
const NEW = '';

/** Order of the strategies. */
const CATEGORIES = ['solar', 'battery', 'heat', 'grid', 'basic'] as const;

type Samples = Readonly<Record<string, string>>;

/** Built from the samples of the documentation. */
const readSamples = (): Promise<Samples> => call('GET', '/rule-samples.json');

/** The first line of a sample says what it does. */
const aboutOf = (code: string): string =>
  sentence((code.split('\n')[0] ?? '').replace(/^--\s*/, '').replace(/^[^:]*:\s*/, ''));

/** @param way undefined to choose; `form` with the id of a strategy, `template` with its name, or `script` */
export function NewRulePage({ way, name }: { way: string | undefined; name: string | undefined }) {
  if (!may('OWNER')) return <Empty title={say.rules.onlyOwners} />;
  const back =
    way === undefined
      ? { href: '#/rules', text: say.frame.rules }
      : { href: '#/new-rule', text: say.rules.newRule };
  return (
    <>
      <PageHead title={say.rules.newRule} back={back} />
      {way === undefined && <Ways />}
      {way === 'form' && <NewStrategyRule id={name ?? ''} />}
      {way === 'template' && <FromTemplate name={name ?? ''} />}
      {way === 'script' && <NewScript />}
    </>
  );
}

function Ways() {
  const { answer, error } = useAnswer(readSamples, []);
  const [draft, setDraft] = useState(() => readDraft(NEW));
  return (
    <>
      {draft && (
        <Notice kind="warning">
          <p>{say.rules.unsavedHere(draft.text.slug)}</p>
          <div class="actions">
            <a class="button primary" href="#/new-rule/script">
              {say.rules.goOn}
            </a>
            <AskButton
              title={say.rules.throwTitle}
              confirm={say.everywhere.throwAway}
              run={async () => {
                dropDraft(NEW);
                setDraft(undefined);
              }}
            >
              {say.rules.throwAwayAsking}
            </AskButton>
          </div>
        </Notice>
      )}
      <h2>{say.rules.byQuestions}</h2>
      <Gallery />
      <h2>{say.rules.asLua}</h2>
      <ErrorNotice error={error} />
      <ul class="ways">
        {!draft &&
          Object.entries(answer ?? {}).map(([name, code]) => (
            <Way
              href={`#/new-rule/template/${name}`}
              title={say.rules.templateTitle(name, words(name))}
              about={say.rules.templateAbout(name, aboutOf(code))}
              key={name}
            />
          ))}
        <Way
          href="#/new-rule/script"
          title={draft ? say.rules.unsavedScript : say.rules.empty}
          about={say.rules.emptyAbout}
        />
      </ul>
    </>
  );
}

/** Strategies and samples, by subject. */
function Gallery() {
  const { answer, error } = useAnswer(readStrategies, []);
  if (!answer) return <Awaited answer={answer} error={error} />;
  return (
    <ul class="ways">
      {CATEGORIES.flatMap((category) => answer.filter((strategy) => strategy.category === category)).map(
        ({ id, name, about }) => (
          <Way href={strategyPage(id)} title={inWords(name)} about={inWords(about)} key={id} />
        ),
      )}
    </ul>
  );
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function Way({ href, title, about }: { href: string; title: string; about: string }) {
  return (
    <li>
      <a href={href}>
        <b>{title}</b>
        <small>{about}</small>
      </a>
    </li>
  );
}

/** A template never replaces a draft. */
function FromTemplate({ name }: { name: string }) {
  const { answer, error } = useAnswer(readSamples, []);
  if (!answer) return <Awaited answer={answer} error={error} />;
  const code = answer[name];
  if (code === undefined) return <Empty title={say.rules.noTemplate} />;
  return <NewScript template={{ ...EMPTY, slug: name, code }} />;
}

function NewScript({ template = EMPTY }: { template?: RuleText }) {
  const [text, setText] = useState(() => readDraft(NEW)?.text ?? template);
  const { action: making, question } = useCheckedSave(text, async () => {
    await createRule(text.slug, scriptOf(text));
    dropDraft(NEW);
    go(rulePage(text.slug));
  });
  useLayoutEffect(() => {
    if (text !== template) keepDraft(NEW, { text, base: undefined });
  }, [text]);
  return (
    <Card>
      <Form action={making} submit={say.rules.makeRule} isKept>
        <RuleFields
          text={text}
          onChange={(part) => setText((before) => ({ ...before, ...part }))}
          isReadOnly={false}
        />
      </Form>
      {question}
      <DryRun script={scriptOf(text)} ruleId={undefined} />
    </Card>
  );
}
