/** Citations in comments and links of pages lead to something that exists. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { anchors, readMarkdown } from '../scripts/support/markdown.ts';
import { Citations } from './support/citations.ts';
import { parseSource, projectFiles, readSource } from './support/source-files.ts';
import { PROJECT_ROOT } from './support/workspace.ts';

const files = projectFiles(PROJECT_ROOT);
const project = new Citations(files, (path) => readFileSync(join(PROJECT_ROOT, path), 'utf8'));

describe('the project', () => {
  test('the project cites existing pages and headings, and decisions by their number', () => {
    const sources = files.filter((path) => /^(?:src|test|scripts)\/.*\.tsx?$/.test(path));
    assert.deepEqual(
      sources.flatMap((path) => project.ofSource(readSource(PROJECT_ROOT, path))),
      [],
    );
  });

  test('links between the pages of the project lead to pages and headings', () => {
    const pages = files.filter((path) => path.endsWith('.md'));
    assert.ok(pages.includes('README.md') && pages.includes('docs/interface/http.md'));
    assert.deepEqual(
      pages.flatMap((path) => project.ofPage(path)),
      [],
    );
  });
});

describe('the check of citations', () => {
  const planted = new Citations(['docs/one.md', 'docs/decisions/0025-time.md', 'src/lib/FORMAT.md'], (path) =>
    path === 'docs/one.md' ? '# One\n\n## A b, c\n\n[two](two.md) [here](#a-b-c) [there](#gone)\n' : '# F\n',
  );
  const faults = (text: string): string[] => planted.ofSource(parseSource('src/lib/planted.ts', text));

  test('the check of citations follows pages from the root and beside the source, to their headings', () => {
    assert.deepEqual(faults('/** See docs/one.md, docs/one.md#a-b-c and FORMAT.md. Decision 0025. */'), []);
  });

  test('the check of citations finds missing pages, in comments and in the names of tests', () => {
    assert.deepEqual(faults('\n// See gone.md.'), [
      'src/lib/planted.ts:2: gone.md leads nowhere: there is no gone.md',
    ]);
    assert.deepEqual(faults("test('cites a missing section as gone.md has it', run);"), [
      'src/lib/planted.ts:1: gone.md leads nowhere: there is no gone.md',
    ]);
    assert.deepEqual(faults("const name = 'gone.md';"), []);
  });

  test('the check of citations finds missing headings, also those named in words', () => {
    assert.deepEqual(faults('// docs/one.md#b'), [
      'src/lib/planted.ts:1: docs/one.md#b leads nowhere: docs/one.md has no heading #b',
    ]);
    for (const words of ['docs/one.md, "A b, c"', 'docs/one.md section 3', 'docs/one.md 9.6'])
      assert.deepEqual(faults(`// ${words}`), [
        'src/lib/planted.ts:1: docs/one.md names its heading in words: write docs/one.md#heading',
      ]);
  });

  test('the check of citations finds missing decisions', () => {
    assert.deepEqual(faults('// (decision 6)'), [
      'src/lib/planted.ts:1: there is no docs/decisions/6-…, which "decision 6" stands for',
    ]);
  });

  test('the check of citations finds broken links of a page', () => {
    assert.deepEqual(planted.ofPage('docs/one.md'), [
      'docs/one.md: two.md leads nowhere: there is no docs/two.md',
      'docs/one.md: #gone leads nowhere: docs/one.md has no heading #gone',
    ]);
  });
});

describe('anchors of headings', () => {
  test('anchors of headings are those of GitHub', () => {
    const of = (text: string): string => anchors()(text);
    assert.equal(of('json, inspect, system'), 'json-inspect-system');
    assert.equal(of('Spec 1.0'), 'spec-10');
    assert.equal(of('A full disk – what then?'), 'a-full-disk--what-then');
  });

  test('anchors of equal headings are numbered, and leave out code and emphasis', () => {
    const { headings } = readMarkdown('# `enapter`\n\n## Life\n\n```\n# no heading\n```\n\n## *Life*\n');
    assert.deepEqual(
      headings.map(({ anchor }) => anchor),
      ['enapter', 'life', 'life-1'],
    );
  });
});

test('the page of troubles names the alerts of the gateway as they are shown', () => {
  const read = (path: string): string => readFileSync(join(PROJECT_ROOT, path), 'utf8');
  const manifest = read('src/capabilities/blueprints/built-in/blueprints/gateway/manifest.yml');
  const shown = new Set([...manifest.matchAll(/^    display_name: (.+)$/gm)].map(([, name]) => name));
  const signs = read('docs/trouble.md').match(/^\| (?:[^|]*)/gm) ?? [];
  const named = signs.flatMap((sign) => [...sign.matchAll(/\*([A-Z][^*]+)\*/g)].map(([, name]) => name));
  assert.ok(named.length >= 10);
  assert.deepEqual(
    named.filter((name) => !shown.has(name)),
    [],
  );
});

test('the page of troubles has a row for each error that the gateway shows', () => {
  const read = (path: string): string => readFileSync(join(PROJECT_ROOT, path), 'utf8');
  const manifest = read('src/capabilities/blueprints/built-in/blueprints/gateway/manifest.yml');
  const ofErrors = /^    display_name: (.+)\n(?: {4,}.*\n)*?    severity: error$/gm;
  const names = [...manifest.matchAll(ofErrors)].map(([, name]) => `*${name}*`);
  const codes = [...read('src/capabilities/appliance/service.ts').matchAll(/\bcode: '(\w+)'/g)];
  const signs =
    read('docs/trouble.md')
      .match(/^\| (?:[^|]*)/gm)
      ?.join('') ?? '';
  assert.ok(names.length >= 9 && codes.length >= 6);
  const missing = [...names, ...codes.map(([, code]) => `\`${code}\``)].filter(
    (sign) => !signs.includes(sign),
  );
  assert.deepEqual(missing, []);
});

test('the page of the interface lists the codes of /readyz as the route has them', () => {
  const read = (path: string): string => readFileSync(join(PROJECT_ROOT, path), 'utf8');
  const routes = read('src/capabilities/appliance/routes.ts');
  const readiness = routes.slice(
    routes.indexOf("operation: 'get_readiness'"),
    routes.indexOf("GET: ['/readyz']"),
  );
  const declared = [...readiness.matchAll(/'503 (\w+)'/g)].map(([, code]) => code);
  const line = /^\| `GET \/readyz` .*$/m.exec(read('docs/interface/http.md'))?.[0] ?? '';
  const listed = [...(line.split('`errors` with')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, code]) => code);
  assert.ok(declared.length > 0);
  assert.deepEqual(listed, declared);
  const made = [...read('src/capabilities/appliance/service.ts').matchAll(/\bcode: '(\w+)'/g)];
  assert.deepEqual(new Set(made.map(([, code]) => code)), new Set(declared), 'those that the service makes');
});
