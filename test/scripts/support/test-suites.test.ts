import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test, type TestContext } from 'node:test';
import { PROJECT_ROOT, temporaryFolder } from '../../support/workspace.ts';

const PROGRAM = join(PROJECT_ROOT, 'scripts', 'support', 'test-suites.ts');

/** Runs the files in one process, each of the source given. */
function runFiles(t: TestContext, sources: Readonly<Record<string, string>>) {
  const folder = temporaryFolder(t);
  const costs = join(folder, 'costs');
  writeFileSync(costs, '');
  const files = Object.entries(sources).map(([name, source]) => {
    const path = join(folder, name);
    writeFileSync(path, source);
    return relative(PROJECT_ROOT, path);
  });
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--test-force-exit', '--test-reporter=tap', PROGRAM],
    {
      cwd: PROJECT_ROOT,
      encoding: 'utf8',
      env: { ...process.env, TEST_FILES: files.join('\n'), TEST_COSTS: costs, TEST_FOLDER: folder },
    },
  );
  const ended = readFileSync(costs, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => (JSON.parse(line) as { file: string }).file);
  return { files, status, stdout, stderr, ended };
}

test('each file is a suite of its own, also for what it declares after an await', (t) => {
  const source = (title: string): string => `
    import { describe, test } from 'node:test';
    await new Promise((resolve) => setTimeout(resolve, 20));
    describe('group', () => void test('${title}', () => undefined));`;
  const { files, status, stdout, ended } = runFiles(t, { 'a.mjs': source('one'), 'b.mjs': source('two') });
  assert.equal(status, 0, stdout);
  const titles = stdout.match(/(?<=# Subtest: ).*/g)?.map((title) => title.trim());
  assert.deepEqual(titles, [files[0], 'group', 'one', files[1], 'group', 'two']);
  assert.deepEqual(ended, files);
});

test('no promise of a test is followed', (t) => {
  const source = `
    import assert from 'node:assert/strict';
    import { executionAsyncId } from 'node:async_hooks';
    import { test } from 'node:test';
    test('ids', async () => {
      await null;
      const id = executionAsyncId();
      await null;
      assert.equal(executionAsyncId(), id);
    });`;
  const { status, stdout } = runFiles(t, { 'a.mjs': source });
  assert.equal(status, 0, stdout);
});

for (const [event, code] of [
  ['uncaughtException', `setTimeout(() => { throw new Error('broken'); }, 1)`],
  ['unhandledRejection', `void Promise.reject(new Error('broken'))`],
] as const)
  test(`${event} ends the run at once, and names the test`, (t) => {
    const source = `
      import { describe, test } from 'node:test';
      describe('group', () => {
        test('good', () => undefined);
        test('bad', () => new Promise(() => { ${code}; setInterval(() => undefined, 1_000); }));
      });`;
    const { files, status, stderr, ended } = runFiles(t, { 'a.mjs': source });
    assert.equal(status, 1);
    assert.match(
      stderr,
      new RegExp(`^${event} in ${files[0]}: ${files[0]} > group > bad Error: broken\\n    at `),
    );
    assert.deepEqual(ended, []);
  });
