import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { PROJECT_ROOT } from '../support/workspace.ts';

const SCRIPTS = readdirSync(join(PROJECT_ROOT, 'scripts')).filter((file) => file.endsWith('.ts'));

describe('every script', () => {
  for (const file of SCRIPTS)
    test(`${file} explains itself and does nothing else with --help`, () => {
      const script = join(PROJECT_ROOT, 'scripts', file);
      const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--help'], {
        encoding: 'utf8',
      });
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, /npm (?:run|test)/);
    });

  // What is not its own the runner of tests hands on.
  for (const file of SCRIPTS.filter((name) => name !== 'test.ts'))
    test(`${file} refuses an option that there is not, in a sentence`, () => {
      const script = join(PROJECT_ROOT, 'scripts', file);
      const { status, stderr } = spawnSync(process.execPath, [script, '--not-an-option'], {
        encoding: 'utf8',
      });
      assert.ok(status === 2 || status === 64, String(status));
      assert.match(stderr, /^Unknown option '--not-an-option'/);
      assert.doesNotMatch(stderr, /^ *at /m);
    });

  test('is reached by npm run, and each npm script leads to a file', () => {
    const { scripts } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8')) as {
      scripts: Record<string, string>;
    };
    const named = Object.values(scripts).flatMap(
      (command) => /scripts\/([\w-]+\.ts)$/.exec(command)?.[1] ?? [],
    );
    assert.deepEqual(named.sort(), [...SCRIPTS].sort());
  });
});
