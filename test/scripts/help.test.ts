import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { type Ended, runEntries } from '../support/entries.ts';
import { PROJECT_ROOT } from '../support/workspace.ts';

const FOLDER = join(PROJECT_ROOT, 'scripts');
const programsIn = (folder: string): string[] =>
  readdirSync(join(FOLDER, folder)).filter((file) => file.endsWith('.ts'));
const NAMED = programsIn('.');
const CHECKS = programsIn('checks');
const SCRIPTS = [...NAMED, ...CHECKS.map((file) => `checks/${file}`)];

/** Others import from these, so they do their work only as the first file of a process. */
const isImported = (file: string): boolean =>
  readFileSync(join(FOLDER, file), 'utf8').includes('import.meta.main');

function runAll(files: readonly string[], option: string): Map<string, Ended> {
  const alone = files.filter(isImported);
  const together = files.filter((file) => !isImported(file));
  const ends = runEntries(together.map((file) => [join(FOLDER, file), option]));
  return new Map([
    ...together.map((file, index) => [file, ends[index] as Ended] as const),
    ...alone.map(
      (file) =>
        [file, spawnSync(process.execPath, [join(FOLDER, file), option], { encoding: 'utf8' })] as const,
    ),
  ]);
}

describe('every script', () => {
  let explained: Map<string, Ended>;
  let refused: Map<string, Ended>;
  // What is not its own the runner of tests hands on.
  const refusing = SCRIPTS.filter((name) => name !== 'test.ts');
  before(() => {
    explained = runAll(SCRIPTS, '--help');
    refused = runAll(refusing, '--not-an-option');
  });

  for (const file of SCRIPTS)
    test(`the script ${file} explains itself and does nothing else with --help`, () => {
      const { status, stdout, stderr } = explained.get(file) ?? {};
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout ?? '', /npm (?:run|test|start)/);
    });

  for (const file of refusing)
    test(`the script ${file} refuses an unknown option in a sentence`, () => {
      const { status, stderr = '' } = refused.get(file) ?? {};
      assert.ok(status === 2 || status === 64, String(status));
      assert.match(stderr, /^Unknown option '--not-an-option'/);
      assert.doesNotMatch(stderr, /^ *at /m);
    });

  test('every check has its line in the help of npm run check', () => {
    const listed = [...(explained.get('check.ts')?.stdout ?? '').matchAll(/^ {2}([a-z-]+) .*\?/gm)];
    assert.deepEqual(
      listed.map(([, kind]) => `${kind}.ts`),
      CHECKS,
    );
  });

  test('every script is reached by an npm script, and each npm script leads to a file', () => {
    const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = Object.values(scripts).flatMap((command) =>
      [...command.matchAll(/scripts\/([\w-]+\.ts)/g)].map(([, file = '']) => file),
    );
    assert.deepEqual([...new Set(named)].sort(), [...NAMED].sort());
  });
});
