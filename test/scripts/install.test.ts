/** Building and installing from the sources: what it refuses. What it builds is in test/package. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const SCRIPT = join(PROJECT_ROOT, 'scripts/install');

const install = (words: string[], path = process.env['PATH']) =>
  spawnSync(SCRIPT, words, { encoding: 'utf8', env: { ...process.env, PATH: path } });

/** A folder of programs: those of this machine that are named, and others as their text. */
function programs(t: TestContext, real: string[], scripts: Record<string, string>): string {
  const folder = temporaryFolder(t);
  for (const name of real)
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(folder, name));
  for (const [name, text] of Object.entries(scripts)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  return folder;
}

describe('the installing script', () => {
  test('the installing script refuses unknown arguments', () => {
    const { status, stderr } = install(['--force']);
    assert.deepEqual([status, stderr], [1, 'unknown option --force; try --help\n']);
  });

  test('the installing script refuses a system without packages, and names the supported ones', (t) => {
    const { status, stderr } = install([], programs(t, ['npm'], {}));
    assert.deepEqual(
      [status, stderr],
      [1, 'apt-get is missing: the package is for Debian 12 and newer, and for systems derived from it.\n'],
    );
  });

  test('the installing script refuses users other than root, before anything is built', (t) => {
    const path = programs(t, [], {
      'apt-get': 'exit 9',
      'dpkg-deb': 'exit 9',
      npm: 'exit 9',
      id: 'echo 1000',
    });
    const { status, stderr } = install([], path);
    assert.deepEqual([status, stderr], [1, 'This has to be run by root, as: sudo scripts/install\n']);
  });

  test('the installing script explains itself', () => {
    const { status, stdout } = install(['--help']);
    assert.equal(status, 0);
    assert.match(stdout, /^Usage: sudo scripts\/install/);
  });
});
