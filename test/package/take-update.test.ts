/** The script that installs what the gateway has handed over, on a disk that refuses. */
import { spawnSync } from 'node:child_process';
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { UpdateFolder } from '../../src/platform/packages/index.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const SCRIPT = join(PROJECT_ROOT, 'scripts/build-deb/gateway/take-update');

/** A package waits; the functions stand in for programs of the system. */
function waiting(t: TestContext) {
  const folder = temporaryFolder(t);
  const [state, data] = [join(folder, 'state'), join(folder, 'data')];
  const outcomeFile = join(state, 'update-outcome');
  const install = join(data, 'update/install.deb');
  mkdirSync(state);
  mkdirSync(join(data, 'update'), { recursive: true });
  writeFileSync(install, 'package');
  const take = (functions: string) =>
    spawnSync('sh', ['-c', `setpriv() { shift 3; "$@"; }\n${functions}\n. "$0"`, SCRIPT], {
      encoding: 'utf8',
      env: { ...process.env, GUARD_STATE: state, GATEWAY_DATA_DIR: data },
    });
  const updater = { program: '', dataDir: data, outcomeFile, trialFile: '', failureFile: '' };
  return { state, outcomeFile, install, take, folder: new UpdateFolder(data, updater) };
}

const WITHOUT_ROOM = 'cat() { return 1; }';

for (const [before, text] of [
  ['none before', '\n'],
  ['a longer one before', `2026-03-01T08:00:00Z not installed: ${'x'.repeat(500)}\n`],
] as const)
  test(`an update is refused on a full disk, although that takes no new note either: ${before}`, (t) => {
    const { state, outcomeFile, install, take, folder } = waiting(t);
    writeFileSync(outcomeFile, text);
    mkdirSync(join(state, 'update-outcome.new'));
    take(WITHOUT_ROOM);
    assert.match(
      folder.outcome?.message ?? '',
      /^not installed: the package could not be copied .* free room$/,
    );
    assert.equal(readFileSync(outcomeFile, 'utf8').length, 601);
    assert.equal(existsSync(install), false);
  });

test('a failed update waits before it ends: its unit is started again at once', (t) => {
  const { take, install, state } = waiting(t);
  const { status, stdout } = take(
    `rm() { case $* in *install.deb) return 1 ;; *) command rm "$@" ;; esac; }\nsleep() { echo "waits $1"; }`,
  );
  assert.deepEqual([status, stdout], [1, 'waits 60\n']);
  assert.equal(existsSync(install), true);
  assert.equal(existsSync(join(state, 'update-outcome')), false);
});
