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
