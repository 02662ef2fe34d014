/**
 * The rules of the house that a program can judge. Each is proved by a planted offence; each message says
 * what to do instead. What needs more than one file is below the table.
 */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PROGRAMS } from '../scripts/build.ts';
import { optionTable } from '../src/platform/config/index.ts';
import { errorCodeFaults, type ListedCode, listedCodes, usedCodes } from './support/error-codes.ts';
import { promiseFaults } from './support/promises.ts';
import { parseSource, projectFiles, readSource } from './support/source-files.ts';
import { offences, TIDY_RULES } from './support/tidy-rules.ts';
import { entryNames, orphans } from './support/orphans.ts';
import { PROJECT_ROOT } from './support/workspace.ts';

const TEXT = /(?:\.(?:ts|tsx|md|json|sql|ya?ml|lua|service|conf|css|html|sh|txt)|\/[a-z.-]+|^[.A-Za-z]+)$/;

const files = projectFiles(PROJECT_ROOT)
  .filter((path) => TEXT.test(path))
  .map((path) => readSource(PROJECT_ROOT, path));
// Declarations of what the runtime brings are imported by nobody.
const sources = files.filter(
  ({ path }) => path.startsWith('src/') && path.endsWith('.ts') && !path.endsWith('.d.ts'),
);

describe('the house', () => {
  for (const rule of TIDY_RULES) test(rule.name, () => assert.deepEqual(offences([rule], files), []));

  test('every source file is used by another one', () => {
    assert.deepEqual(orphans(sources, existsSync(join(PROJECT_ROOT, 'src/gateway.ts'))), []);
  });

  test('every program and worker thread is built, and nothing else', () => {
    const started = sources.flatMap((file) => entryNames(file));
    // A module is also started by hand, on other boards; what starts the sandbox is not there yet.
    const byHand = ['admin', 'main', 'programs/communication-module/main', 'programs/rule-sandbox/main'];
    assert.deepEqual([...new Set([...byHand, ...started])].sort(), [...PROGRAMS].sort());
  });

  test('docs/errors.md lists exactly the codes in use', () => {
    const document = files.find(({ path }) => path === 'docs/errors.md');
    assert.ok(document, 'docs/errors.md is missing');
    assert.deepEqual(errorCodeFaults(usedCodes(sources), listedCodes(document.text)), []);
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

test('the check of promises sees one without a test, and one whose test went away', () => {
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
    test(`sees a breach of: ${rule.name}`, () => {
      assert.ok(rule.holdsIn(path), path);
      const found = offences([rule], [parseSource(path, text)]);
      assert.deepEqual(
        found.map((line) => line.replace(/^.*?:\d+: /, '')),
        [message],
      );
    });
    test(`accepts what keeps: ${rule.name}`, () => {
      assert.ok(rule.holdsIn(rightPath), rightPath);
      assert.deepEqual(offences([rule], [parseSource(rightPath, right)]), []);
    });
  }

  test('names file and line', () => {
    const planted = parseSource('src/lib/planted.ts', '// a\n\nconst at = Date.now();\n');
    assert.deepEqual(offences(TIDY_RULES, [planted]), [
      'src/lib/planted.ts:3: Date.now is refused: use clock.wallMs()',
    ]);
  });

  test('leaves comments, texts and expressions in peace', () => {
    const text =
      '// Date.now(), process.env\nconst a = `Date.now() ${b} process.exit()`; const c = /Date.now()/;';
    assert.deepEqual(offences(TIDY_RULES, [parseSource('src/lib/planted.ts', text)]), []);
  });

  test('looks into the expressions of templates', () => {
    const text = 'const a = `${[{ b: Date.now() }]} and ${`${process.env}`}`;';
    assert.equal(offences(TIDY_RULES, [parseSource('src/lib/planted.ts', text)]).length, 2);
  });

  test('finds a file that nobody uses, and an index.ts only once everything is wired', () => {
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

  test('compares error codes and kinds both ways', () => {
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
