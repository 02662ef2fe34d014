/**
 * The rules of the house that a program can judge. Each is proved by a planted offence; each message says
 * what to do instead. What needs more than one file is below the table.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PROGRAMS } from '../scripts/build.ts';
import { optionTable } from '../src/platform/config/index.ts';
import { errorCodeFaults, type ListedCode, listedCodes, usedCodes } from './support/error-codes.ts';
import { CAPABILITY_ORDER } from './support/import-table.ts';
import { promiseFaults } from './support/promises.ts';
import { deadExports, undocumented } from './support/exports.ts';
import { parseSource, projectFiles, readSource } from './support/source-files.ts';
import { offences, TIDY_RULES } from './support/tidy-rules.ts';
import { entryNames, orphans } from './support/orphans.ts';
import { PROJECT_ROOT } from './support/workspace.ts';

const TEXT = /(?:\.(?:ts|tsx|md|json|sql|ya?ml|lua|service|conf|css|html|sh|txt)|\/[a-z.-]+|^[.A-Za-z]+)$/;

const files = projectFiles(PROJECT_ROOT)
  .filter((path) => TEXT.test(path) && !path.endsWith('.png'))
  .map((path) => readSource(PROJECT_ROOT, path));
// Declarations of what the runtime brings are imported by nobody.
const sources = files.filter(
  ({ path }) => path.startsWith('src/') && path.endsWith('.ts') && !path.endsWith('.d.ts'),
);

interface Lock {
  packages: Record<string, { engines?: { node?: string } }>;
}

describe('the house', () => {
  for (const rule of TIDY_RULES) test(rule.name, () => assert.deepEqual(offences([rule], files), []));

  test('every source file is used by another one', () => {
    assert.deepEqual(orphans(sources, existsSync(join(PROJECT_ROOT, 'src/gateway.ts'))), []);
  });

  test('every export is imported somewhere', () => {
    const code = files.filter(({ path }) => /^(?:src|test|scripts)\/.*\.tsx?$/.test(path));
    // Types of the console are made of declarations, which need a name for what a function infers.
    assert.deepEqual(deadExports(code, ['CommandEvents', 'NewStandalone']), []);
  });

  test('the house has a docstring on every export of an index.ts', () => {
    assert.deepEqual(undocumented(sources), []);
  });

  test('every program and worker thread is built, and nothing else', () => {
    const started = sources.flatMap((file) => entryNames(file));
    // A module is also started by hand, on other boards; what starts the sandbox is not there yet.
    const byHand = ['admin', 'main', 'field-module/main', 'scripting/rule-sandbox/main'];
    assert.deepEqual([...new Set([...byHand, ...started])].sort(), [...PROGRAMS].sort());
  });

  test('docs/errors.md lists exactly the codes in use', () => {
    const document = files.find(({ path }) => path === 'docs/errors.md');
    assert.ok(document, 'docs/errors.md is missing');
    assert.deepEqual(errorCodeFaults(usedCodes(sources), listedCodes(document.text)), []);
  });

  // The pinned runtime runs the packages; npm would warn by its own Node.js. `npm install PACKAGE` brings such a line
  // back: take `engines` of that package out of package-lock.json.
  test('npm warns of no package on the oldest Node.js that README allows', () => {
    const lock = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package-lock.json'), 'utf8')) as Lock;
    const tooNew = Object.entries(lock.packages).filter(([, { engines }]) =>
      /^>=? ?(?:2[1-9]|[3-9]\d)\b/.test(engines?.node ?? ''),
    );
    assert.deepEqual(
      tooNew.map(([name]) => name),
      [],
    );
  });

  test('the picture in README names every capability, lowest first', () => {
    const readme = files.find(({ path }) => path === 'README.md')?.text ?? '';
    const picture = [...readme.matchAll(/^  │ (.*?) +│$/gm)].map((match) => match[1]).join(' ');
    const order = CAPABILITY_ORDER.map((level) => level.join(' · ')).join(' → ');
    assert.ok(picture.includes(order), `${order}\nis not in\n${picture}`);
  });

  test('README shows the option table', () => {
    const readme = files.find(({ path }) => path === 'README.md')?.text ?? '';
    const shown = /<!-- options: begin -->\n([\s\S]*?)\n<!-- options: end -->/.exec(readme)?.[1];
    assert.equal(shown?.trim(), optionTable().trim(), 'run: npm run options');
  });
});

test('docs/security.md names existing tests for each promise', () => {
  const document = files.find(({ path }) => path === 'docs/security.md');
  const isTest = (path: string): boolean =>
    /^test\/.*\.test\.ts$/.test(path) && existsSync(join(PROJECT_ROOT, path));
  assert.deepEqual(promiseFaults(document?.text ?? '', isTest), []);
});

test('the check of promises finds one without a test, and one whose test is missing', () => {
  const page = (row: string): string =>
    `## What is promised\n\n| Promise | Held by |\n|---|---|\n${row}\n## Next\n`;
  const faults = (row: string): string[] => promiseFaults(page(row), (path) => path === 'test/a.test.ts');
  assert.deepEqual(faults('| Nobody gets in | `test/a.test.ts` |'), []);
  assert.deepEqual(faults('| Nobody gets in |  |'), ['"Nobody gets in" names no test']);
  assert.deepEqual(faults('| Nobody gets in | `test/a.test.ts`, `test/b.test.ts` |'), [
    '"Nobody gets in" names test/b.test.ts, which is no test',
  ]);
  assert.deepEqual(faults(''), ['nothing is promised']);
  assert.equal(promiseFaults('', () => true).length, 1);
});

describe('the check of the house', () => {
  for (const rule of TIDY_RULES) {
    const { path, text, message, right, rightPath = path } = rule.planted;
    test(`the check of the house finds a breach of: ${rule.name}`, () => {
      assert.ok(rule.holdsIn(path), path);
      const found = offences([rule], [parseSource(path, text)]);
      assert.deepEqual(
        found.map((line) => line.replace(/^.*?:\d+: /, '')),
        [message],
      );
    });
    test(`the check of the house accepts what keeps: ${rule.name}`, () => {
      assert.ok(rule.holdsIn(rightPath), rightPath);
      assert.deepEqual(offences([rule], [parseSource(rightPath, right)]), []);
    });
  }

  test('the check of the house names file and line', () => {
    const planted = parseSource('src/lib/planted.ts', '// a\n\nconst at = Date.now();\n');
    assert.deepEqual(offences(TIDY_RULES, [planted]), [
      'src/lib/planted.ts:3: Date.now is refused: use clock.wallMs()',
    ]);
  });

  test('the check of the house ignores comments, texts and expressions', () => {
    const text =
      '// Date.now(), process.env\nconst a = `Date.now() ${b} process.exit()`; const c = /Date.now()/;';
    assert.deepEqual(offences(TIDY_RULES, [parseSource('src/lib/planted.ts', text)]), []);
  });

  test('the check of the house looks into the expressions of templates', () => {
    const text = 'const a = `${[{ b: Date.now() }]} and ${`${process.env}`}`;';
    assert.equal(offences(TIDY_RULES, [parseSource('src/lib/planted.ts', text)]).length, 2);
  });

  test('the check of the house continues behind the ends of elements', () => {
    const text = 'const a = <p title={b}><i class={c} /></p>;\nconst at = <p>{Date.now()}</p>;';
    assert.equal(offences(TIDY_RULES, [parseSource('src/lib/planted.ts', text)]).length, 1);
  });

  test('the check of the house finds an unused file, and an index.ts only once everything is wired', () => {
    const planted = [
      parseSource('src/main.ts', "import './gateway.ts';"),
      parseSource('src/gateway.ts', "import './lib/used.ts';"),
      parseSource('src/lib/used.ts', ''),
      parseSource('src/platform/tls/unused.ts', "import '../../lib/used.ts';"),
      parseSource('src/platform/tls/index.ts', ''),
    ];
    assert.deepEqual(orphans(planted, false), ['src/platform/tls/unused.ts: used by nobody, remove it']);
    assert.deepEqual(orphans(planted, true), [
      'src/platform/tls/unused.ts: used by nobody, remove it',
      'src/platform/tls/index.ts: used by nobody, remove it',
    ]);
  });

  test('the check of the house finds an export that nobody imports, and one without a docstring', () => {
    const planted = [
      parseSource('src/lib/a.ts', 'export const used = 1;\nexport class Dead {}\nexport type Seen = 1;'),
      parseSource('src/lib/index.ts', "export { used as shown, type Seen } from './a.ts';"),
      parseSource('test/a.test.ts', "import { shown } from '../src/lib/index.ts';"),
    ];
    assert.deepEqual(deadExports(planted), [
      'src/lib/a.ts: nobody imports Dead, do not export it',
      'src/lib/index.ts: nobody imports Seen, do not export it',
    ]);
    assert.deepEqual(deadExports(planted, ['Dead', 'Seen']), []);
    assert.deepEqual(undocumented(planted), [
      'src/lib/a.ts: used has no docstring, an index.ts offers it',
      'src/lib/a.ts: Seen has no docstring, an index.ts offers it',
    ]);
    const said = '/** One. */\nexport const used = 1;\n/** Two. */\nexport type Seen = 1;';
    assert.deepEqual(undocumented([parseSource('src/lib/a.ts', said), ...planted.slice(1)]), []);
    const head = '/** A file. */\n\n';
    const oneLeft = head + said.replace('/** Two. */\n', '');
    assert.deepEqual(undocumented([parseSource('src/lib/a.ts', oneLeft), ...planted.slice(1)]), [
      'src/lib/a.ts: Seen has no docstring, an index.ts offers it',
    ]);
  });

  test('the check of the house compares error codes and kinds both ways', () => {
    const used = usedCodes([
      parseSource(
        'src/capabilities/site/service.ts',
        "throw gatewayError(\n  'conflict',\n  'already_exists',\n  text);\nnotFound('site_not_found', text);\n" +
          "const problem = { code: 'invalid_blueprint', message };\nnotFound(code, text);",
      ),
    ]);
    const listed: ListedCode[] = [
      { code: 'already_exists', kind: 'internal' },
      { code: 'gone', kind: 'not_found' },
      { code: 'invalid_blueprint', kind: 'unprocessable' },
      { code: 'already_exists', kind: 'conflict' },
    ];
    assert.deepEqual(errorCodeFaults(used, listed), [
      'src/capabilities/site/service.ts:7: write the code of notFound as text, so that it can be checked',
      'docs/errors.md: already_exists is internal there, conflict in src/capabilities/site/service.ts:1',
      'src/capabilities/site/service.ts:5: code site_not_found is not in docs/errors.md',
      'docs/errors.md: no source uses gone',
      'docs/errors.md: already_exists stands after invalid_blueprint, keep rows sorted and single',
    ]);
  });
});
