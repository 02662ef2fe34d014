/** The JSON browser: reads an address of a device that the library lacks, and makes a template of the fields that are chosen. */
import { useState } from 'preact/hooks';
import { callFor } from '../api.ts';
import type { HttpRead } from '../shapes.ts';
import { Button, Card, Form, InputField, Notice, useAction } from '../ui.tsx';
import { useTyped } from '../ui/typed.ts';
import { say } from '../words/later.ts';
import {
  addressOf,
  isNumber,
  type JsonPath,
  type JsonRow,
  jsonTemplateText,
  type Leaf,
  leafAt,
  pathText,
  shownLeaf,
  withMinus,
} from './json-template.ts';
import { MeaningFields } from './meaning-fields.tsx';
import { OwnTemplate } from './own-template.tsx';
import { isNamed } from './template-text.ts';

const ROWS_MAX = 60;
/** Shown members of one list or object; more would slow the page down. */
const MEMBERS_MAX = 200;
const DEPTH_MAX = 12;

export function JsonBrowser() {
  const { typed, bound } = useTyped(() => ({ url: '' }));
  /** The address that was read: what is typed afterwards has no answer yet. */
  const [read, setRead] = useState<{ url: string; content: unknown } | undefined>(undefined);
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const [rows, setRows] = useState<readonly JsonRow[]>([]);
  const reading = useAction(async () => {
    const url = typed.url.trim();
    const { text, message } = await callFor<HttpRead>('read', 'POST', '/v3/http/read', { url });
    setProblem(text === null ? message : undefined);
    if (text === null) return;
    if (url !== read?.url) setRows([]);
    setRead({ url, content: JSON.parse(text) as unknown });
  });
  const choose = (path: JsonPath, leaf: Leaf): void =>
    setRows((before) =>
      before.length >= ROWS_MAX || before.some((row) => pathText(row.path) === pathText(path))
        ? before
        : [...before, { path, leaf, factor: '', title: String(path.at(-1) ?? ''), unit: '', part: '' }],
    );
  const change = (changed: JsonRow, part: Partial<JsonRow>): void =>
    setRows((before) => before.map((row) => (row === changed ? { ...row, ...part } : row)));
  return (
    <>
      <Card title={say.adding.json.title} data-test="json">
        <p class="hint">{say.adding.json.hint}</p>
        <Form action={reading} submit={say.adding.json.read} isKept>
          <InputField
            label={say.adding.json.url}
            hint={say.adding.json.urlHint}
            {...bound('url')}
            required
            maxLength={2_048}
          />
        </Form>
        {problem !== undefined && <Notice kind="warning">{say.frame.said(problem)}</Notice>}
        {read && (
          <div class="json">
            <Tree value={read.content} path={[]} onChoose={choose} />
          </div>
        )}
        <ul class="rows registers">
          {rows.map((row) => (
            <ChosenField
              key={pathText(row.path)}
              row={row}
              leaf={leafAt(read?.content, row.path)}
              onChange={(part) => change(row, part)}
              onRemove={() => setRows((before) => before.filter((one) => one !== row))}
            />
          ))}
        </ul>
      </Card>
      <OwnTemplate
        isNamed={rows.some(isNamed)}
        textOf={(names) => jsonTemplateText({ ...names, url: read?.url ?? '' }, rows)}
        connection={{ address: addressOf(read?.url ?? '') }}
        runtime=""
      />
    </>
  );
}

interface ChosenFieldProps {
  row: JsonRow;
  /** The present value. */
  leaf: Leaf | undefined;
  onChange: (part: Partial<JsonRow>) => void;
  onRemove: () => void;
}

function ChosenField({ row, leaf, onChange, onRemove }: ChosenFieldProps) {
  return (
    <li>
      <div class="register">
        <p>
          <code>{pathText(row.path)}</code>
        </p>
        <MeaningFields row={row} isNumber={isNumber(row.leaf)} onChange={onChange} />
      </div>
      <div class="actions">
        <output>{shownLeaf(row, leaf)}</output>
        <Button onClick={onRemove}>{say.everywhere.remove}</Button>
      </div>
    </li>
  );
}

interface TreeProps {
  value: unknown;
  path: JsonPath;
  onChoose: (path: JsonPath, leaf: Leaf) => void;
}

/** An answer as nested lists; a field that a template can name is a button. */
function Tree({ value, path, onChoose }: TreeProps) {
  const members = membersOf(value).slice(0, MEMBERS_MAX);
  if (path.length === 0 && !isLeaf(value) && members.length === 0)
    return <p class="hint">{say.adding.json.empty}</p>;
  if (isLeaf(value)) return <Field label="." path={path} leaf={value} onChoose={onChoose} />;
  return (
    <ul>
      {members.map(([key, member]) => {
        const inner = [...path, key];
        return (
          <li key={key}>
            {isLeaf(member) ? (
              <Field label={String(key)} path={inner} leaf={member} onChoose={onChoose} />
            ) : (
              <>
                {key}
                {inner.length < DEPTH_MAX && <Tree value={member} path={inner} onChoose={onChoose} />}
              </>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function Field({ label, path, leaf, onChoose }: { label: string; leaf: Leaf } & Omit<TreeProps, 'value'>) {
  const shown = typeof leaf === 'number' ? withMinus(String(leaf)) : JSON.stringify(leaf);
  if (leaf === null || pathText(path) === undefined)
    return (
      <span>
        {label}: {shown}
      </span>
    );
  return (
    <Button onClick={() => onChoose(path, leaf)}>
      {label}: {shown}
    </Button>
  );
}

const isLeaf = (value: unknown): value is Leaf => typeof value !== 'object' || value === null;

const membersOf = (value: unknown): [string | number, unknown][] =>
  Array.isArray(value)
    ? value.map((member, index): [number, unknown] => [index, member])
    : typeof value === 'object' && value !== null
      ? Object.entries(value)
      : [];
