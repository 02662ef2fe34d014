import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { until } from '../support/until.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

test('.ci/run ends at its limit with all processes of its tests, and says that it is no root', async (t) => {
  const folder = temporaryFolder(t);
  const program = (name: string, text: string): void =>
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  program('id', 'echo 1000');
  // The runner, and a program that it started apart from itself.
  program('npm', `[ "$1" = run ] || exit 0\nsetsid sleep 600 &\necho $! >${folder}/apart\nsleep 600`);
  const { status, stderr } = spawnSync(join(PROJECT_ROOT, '.ci/run'), {
    encoding: 'utf8',
    env: { ...process.env, PATH: `${folder}:${process.env['PATH']}`, CI_LIMIT: '2s' },
  });
  assert.equal(status, 124, stderr);
  assert.match(stderr, /^not root: tests that need mounts/m);
  const apart = readFileSync(join(folder, 'apart'), 'utf8').trim();
  await until(
    () => !existsSync(`/proc/${apart}`) || /^State:\s+Z/m.test(readFileSync(`/proc/${apart}/status`, 'utf8')),
  );
});
