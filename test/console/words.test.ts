import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import * as de from '../../src/console/words/de.ts';
import { en as enFirst } from '../../src/console/words/en.ts';
import { enLater } from '../../src/console/words/en-later.ts';
import { languageOf } from '../../src/console/words/language.ts';
import { spokenOutside } from '../support/spoken.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const en = { ...enFirst, ...enLater };

/** What is no prose: Lua that is written, styles of the editor, names of files and of the library of rules. */
const NO_PROSE = [
  'rules/code-editor.ts',
  'rules/words.ts',
  'service-worker.ts',
  'provision/template-text.ts',
  'provision/register-template.ts',
  'provision/json-template.ts',
];
/** Said as they are in every language, or never read by people. */
const EXCEPTED: readonly string[] = [
  'XXXX-XXXX-XXXX',
  'mqtt',
  'mqtts',
  'npm run module -- --config ◌.json',
  'sudo install -m 600 ◌.json /etc/energy-gateway-module/connection.json',
  'sudo systemctl restart energy-gateway-module',
  '--cafile ca.crt --cert device.crt --key device.key',
  '-t v1/from/◌/◌/v3/logs',
  `-m '{"message": "hello from mosquitto", "severity": "info", "persist": true}'`,
  "enapter.log('hello from a rule')",
  'rule-draft',
  'Simulated House',
  'offline',
  'i',
  'PEM',
  'CRT',
  'OpenAPI',
  '{site}/commands',
  'Token',
  'Bearer',
  'Content-Type',
  'values',
  'Slack',
  'Discord',
  'Mattermost',
  'Google Chat',
  'Microsoft Teams',
  'color-mix(in srgb, red, blue)',
];

/** Words that are the same in German. */
const SAME: readonly string[] = [
  'access.tokenName',
  'access.operation',
  'access.originName',
  'access.targetValue',
  'adding.fileSize',
  'adding.version',
  'adding.original',
  'alerts.byWebhook',
  'alerts.ofGateway.offline',
  'alerts.port',
  'alerts.server',
  'box.api',
  'box.https',
  'box.program',
  'box.state',
  'box.updates',
  'box.version',
  'devices.id',
  'devices.offline',
  'devices.online',
  'fieldTrace.traceTook',
  'everywhere.blueprint',
  'everywhere.name',
  'everywhere.status',
  'frame.blueprints',
  'frame.box',
  'frame.logged',
  'frame.refused',
  'frame.said',
  'history.asCsv',
  'rules.templateAbout',
  'rules.templateTitle',
  'site.role.generator',
  'targets.bearer',
  'targets.formOver.PLAIN',
  'targets.measurement',
  'targets.pem',
  'targets.token',
  'targets.topic',
  'updates.versionName',
  'values.days',
  'values.gateway',
  'values.hours',
  'values.minutes',
  'values.ofProfile',
  'values.ofState',
  'values.seconds',
  'values.status.OFFLINE',
  'values.status.ONLINE',
];

type Words = { readonly [key: string]: Words | string | ((...given: never[]) => unknown) };

/** Stands for whatever is put into a sentence: a name, a number, a link made of the text that it gets, a list. */
function standIn(index: number): unknown {
  const text = `‹${index}›`;
  const members = {
    toString: () => text,
    toLowerCase: () => text,
    split: () => [text],
    [Symbol.iterator]: () => [text].values(),
  };
  return Object.assign((inside: unknown) => [text, inside], members);
}

function sentenceOf(word: string | ((...given: never[]) => unknown)): string {
  if (typeof word === 'string') return word;
  const given = Array.from({ length: word.length }, (_, index) => standIn(index));
  return [word(...(given as never[]))].flat(9).map(String).join('');
}

/** Sentences by their place: `site.role.pv`. */
function sentences(words: Words, place = ''): [place: string, sentence: string][] {
  return Object.entries(words).flatMap(([key, word]): [string, string][] =>
    typeof word === 'object' ? sentences(word, `${place}${key}.`) : [[place + key, sentenceOf(word)]],
  );
}

const holes = (sentence: string): string[] => [...new Set(sentence.match(/‹\d›/g))].sort();

describe('the words of the console', () => {
  const english = sentences(en);
  const german = new Map(sentences(de));

  test('the words of the console stand in its catalogue alone', () => {
    const isExcepted = (path: string): boolean => path.startsWith('words/') || NO_PROSE.includes(path);
    const found = spokenOutside(join(PROJECT_ROOT, 'src/console/tsconfig.json'), PROJECT_ROOT, isExcepted);
    assert.deepEqual(
      found.filter((line) => !EXCEPTED.includes(line.replace(/^.*?:\d+: /, ''))),
      [],
    );
  });

  test('every word of the console is translated, except listed ones that are the same', () => {
    const same = english.filter(([place, sentence]) => german.get(place) === sentence);
    assert.deepEqual(same.map(([place]) => place).sort(), [...SAME].sort());
  });

  test('the words of the console have the same placeholders in both languages', () => {
    for (const [place, sentence] of english)
      assert.deepEqual(holes(german.get(place) ?? ''), holes(sentence), place);
  });

  test('the words of the console are in the chosen language, else in the first available one of the browser', () => {
    const rows: [kept: string | null, preferred: string[], language: string][] = [
      [null, ['de-AT', 'en'], 'de'],
      [null, ['fr', 'de', 'en'], 'de'],
      [null, ['fr'], 'en'],
      [null, [], 'en'],
      ['en', ['de'], 'en'],
      ['de', ['en'], 'de'],
      ['xx', ['de'], 'de'],
    ];
    for (const [kept, preferred, language] of rows) assert.equal(languageOf(kept, preferred), language);
  });
});

describe('the check of words', () => {
  test('texts outside of the catalogue are found, except those that nobody reads', (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'gateway-words-'));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'words'));
    writeFileSync(
      join(folder, 'tsconfig.json'),
      '{ "include": ["."], "compilerOptions": { "jsx": "preserve" } }',
    );
    writeFileSync(join(folder, 'words', 'en.ts'), "export const en = { hello: 'Hello there' };");
    writeFileSync(
      join(folder, 'planted.tsx'),
      `import { say } from './words/index.ts';
export const Planted = ({ count, isBusy, kind }) => (
  <div class="some classes" title="a title" name="slug" data-test="energy">
    Bare words
    <Fact name="Size">{count === 1 ? 'value' : say.values}</Fact>
    {isBusy && kind !== 'primary kind' && <a href="#/rules/some rule">{\`\${count} left\`}</a>}
  </div>
);
export const choices = [{ value: 'ALL', text: 'all' }];
export const fault = () => new Error('It went wrong.');
export const asked = (id) => call('GET', \`/v3/devices/\${id} x\`);
`,
    );
    const found = spokenOutside(join(folder, 'tsconfig.json'), folder, (path) => path.startsWith('words/'));
    assert.deepEqual(found, [
      'planted.tsx:3: a title',
      'planted.tsx:4: Bare words',
      'planted.tsx:5: Size',
      'planted.tsx:5: value',
      'planted.tsx:6: ◌ left',
      'planted.tsx:9: all',
      'planted.tsx:10: It went wrong.',
    ]);
  });
});
