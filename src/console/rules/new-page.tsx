/** A new rule: from a form, a template, or nothing. */
import { useLayoutEffect, useState } from 'preact/hooks';
import { words } from '../format.ts';
import { DryRun } from '../parts/dry-run.tsx';
import { go } from '../route.ts';
import { may } from '../session.ts';
import {
  AskButton,
  Card,
  Empty,
  ErrorNotice,
  Form,
  Loading,
  Notice,
  PageHead,
  useAction,
  useAnswer,
} from '../ui.tsx';
import { dropDraft, keepDraft, readDraft } from './drafts.ts';
import { createRule, rulePage, type RuleText, scriptOf } from './engine.ts';
import { RuleFields } from './fields.tsx';
import { SIMPLE, SimpleRule } from './simple-forms.tsx';

const EMPTY: RuleText = { slug: '', code: "enapter.log('hello from a rule')\n", runtime: 'V3', interval: '' };
/** Drafts of rules that exist have their ids. */
const NEW = '';

type Samples = Readonly<Record<string, string>>;

/** Built from the samples of the documentation. */
async function readSamples(): Promise<Samples> {
  const response = await fetch('/rule-samples.json');
  if (!response.ok) throw new Error('The templates could not be loaded. Load the page again.');
  return (await response.json()) as Samples;
}

/** The first line of a sample says what it does. */
const aboutOf = (code: string): string =>
  sentence((code.split('\n')[0] ?? '').replace(/^--\s*/, '').replace(/^[^:]*:\s*/, ''));

/** @param way undefined to choose; `form` with its kind, `template` with its name, or `script` */
export function NewRulePage({ way, name }: { way: string | undefined; name: string | undefined }) {
  if (!may('OWNER')) return <Empty title="Only an owner or installer makes rules" />;
  const back =
    way === undefined ? { href: '#/rules', text: 'Rules' } : { href: '#/new-rule', text: 'New rule' };
  const simple = SIMPLE.find(({ kind }) => kind === name);
  return (
    <>
      <PageHead title={way === 'form' ? (simple?.title ?? 'New rule') : 'New rule'} back={back} />
      {way === undefined && <Ways />}
      {way === 'form' && <SimpleRule kind={name ?? ''} />}
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
          <p>
            There is a script that was typed here and not saved{draft.text.slug && `: ${draft.text.slug}`}.
          </p>
          <div class="actions">
            <a class="button primary" href="#/new-rule/script">
              Go on with it
            </a>
            <AskButton
              title="Throw the unsaved script away?"
              confirm="Throw away"
              run={async () => {
                dropDraft(NEW);
                setDraft(undefined);
              }}
            >
              Throw away…
            </AskButton>
          </div>
        </Notice>
      )}
      <h2>By a few questions</h2>
      <ul class="ways">
        {SIMPLE.map(({ kind, title, about }) => (
          <Way href={`#/new-rule/form/${kind}`} title={title} about={about} key={kind} />
        ))}
      </ul>
      <h2>As a Lua script</h2>
      <ErrorNotice error={error} />
      <ul class="ways">
        {!draft &&
          Object.entries(answer ?? {}).map(([name, code]) => (
            <Way href={`#/new-rule/template/${name}`} title={words(name)} about={aboutOf(code)} key={name} />
          ))}
        <Way
          href="#/new-rule/script"
          title={draft ? 'The unsaved script' : 'Empty'}
          about="Write it yourself; the editor knows the devices of the site."
        />
      </ul>
    </>
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

/** A template never takes the place of what was typed. */
function FromTemplate({ name }: { name: string }) {
  const { answer, error } = useAnswer(readSamples, []);
  if (!answer) return error === undefined ? <Loading /> : <ErrorNotice error={error} />;
  const code = answer[name];
  if (code === undefined) return <Empty title="There is no such template" />;
  return <NewScript template={{ ...EMPTY, slug: name, code }} />;
}

function NewScript({ template = EMPTY }: { template?: RuleText }) {
  const [text, setText] = useState(() => readDraft(NEW)?.text ?? template);
  const making = useAction(async () => {
    await createRule(text.slug, scriptOf(text));
    dropDraft(NEW);
    go(rulePage(text.slug));
  });
  useLayoutEffect(() => {
    if (text !== template) keepDraft(NEW, { text, base: undefined });
  }, [text]);
  return (
    <Card>
      <Form action={making} submit="Make rule">
        <RuleFields
          text={text}
          onChange={(part) => setText((before) => ({ ...before, ...part }))}
          isReadOnly={false}
        />
      </Form>
      <DryRun script={scriptOf(text)} ruleId={undefined} />
    </Card>
  );
}
