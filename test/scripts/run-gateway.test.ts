/** The script behind `npm start`: it starts the gateway again when it asks for that, and passes signals on. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { until } from '../support/until.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

/** A project whose runtime is a shell script instead of Node.js. */
function projectWith(t: TestContext, runtime: string): string {
  const root = temporaryFolder(t);
  mkdirSync(join(root, 'scripts'));
  copyFileSync(join(PROJECT_ROOT, 'scripts/run-gateway'), join(root, 'scripts/run-gateway'));
  writeFileSync(join(root, 'scripts/gwnode'), `#!/bin/sh\n${runtime}\n`);
  for (const name of ['run-gateway', 'gwnode']) chmodSync(join(root, 'scripts', name), 0o755);
  return root;
}

test('run-gateway ends with the exit code of a gateway that failed', (t) => {
  const root = projectWith(t, 'exit 78');
  assert.equal(spawnSync(join(root, 'scripts/run-gateway')).status, 78);
});

test('run-gateway starts the gateway again after exit code 75, with the same arguments', (t) => {
  const root = projectWith(t, 'echo "$4" >> "$0.starts"; [ "$(wc -l < "$0.starts")" -ge 3 ] || exit 75');
  assert.equal(spawnSync(join(root, 'scripts/run-gateway'), ['--version']).status, 0);
  assert.equal(readFileSync(join(root, 'scripts/gwnode.starts'), 'utf8'), '--version\n'.repeat(3));
});

test('run-gateway passes SIGTERM on and waits for the end of the gateway', async (t) => {
  const root = projectWith(
    t,
    'trap \'sleep 0.2; touch "$0.stopped"; exit 3\' TERM; touch "$0.started"; while :; do sleep 0.05; done',
  );
  const child = spawn(join(root, 'scripts/run-gateway'));
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await until(() => existsSync(join(root, 'scripts/gwnode.started')));
  child.kill('SIGTERM');
  assert.equal(await ended, 3);
  assert.ok(existsSync(join(root, 'scripts/gwnode.stopped')));
});
