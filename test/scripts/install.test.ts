/** The installer on a root of its own: what it finds missing, and what it puts back when a version does not start. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';

const GOOD_RUNTIME = '#!/bin/sh\nexit 0\n';
const PLAIN_FILES = ['package.json', 'package-lock.json', '.npmrc', 'tsconfig.json', 'README.md'];

/** Stands for the service manager: a version with src/BAD changes the state and then fails. */
const SYSTEMCTL = `#!/bin/sh
echo "$@" >> "$INSTALL_ROOT/calls"
bad=$INSTALL_ROOT/opt/energy-gateway/src/BAD
case $1 in
  restart) [ ! -e "$bad" ] || echo migrated > "$INSTALL_ROOT/var/lib/energy-gateway/state.db" ;;
  show) if [ -e "$bad" ]; then printf '1\\nactivating\\n'; else printf '0\\nactive\\n'; fi ;;
esac
`;

const NPM = `#!/bin/sh
if [ "$1" = run ]; then mkdir -p dist; : > dist/admin.js; fi
`;

function world(t: TestContext) {
  const folder = temporaryFolder(t);
  const [root, source, bin] = ['root', 'source', 'bin'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const data = join(root, 'var/lib/energy-gateway');
  for (const path of [
    data,
    join(root, 'etc/systemd/system'),
    join(root, 'usr/local/bin'),
    join(root, 'opt'),
    bin,
  ])
    mkdirSync(path, { recursive: true });
  const stub = (name: string, text: string): void => writeFileSync(join(bin, name), text, { mode: 0o755 });
  stub('systemctl', SYSTEMCTL);
  stub('npm', NPM);
  stub('id', '#!/bin/sh\necho 0\n');
  for (const name of ['systemd-sysusers', 'sleep', 'journalctl', 'sync']) stub(name, '#!/bin/sh\n');
  for (const name of ['src', 'migrations', 'scripts', 'docs'])
    mkdirSync(join(source, name), { recursive: true });
  for (const name of [...PLAIN_FILES, 'CHANGELOG.md', 'LICENSE']) writeFileSync(join(source, name), '');
  cpSync(join(PROJECT_ROOT, 'systemd'), join(source, 'systemd'), { recursive: true });
  for (const name of ['install', 'runtime-check'])
    cpSync(join(PROJECT_ROOT, 'scripts', name), join(source, 'scripts', name));
  const runtime = (text: string): void =>
    writeFileSync(join(source, 'scripts/gwnode'), text, { mode: 0o755 });
  runtime(GOOD_RUNTIME);
  return {
    root,
    source,
    data,
    runtime,
    stub,
    calls: () => (existsSync(join(root, 'calls')) ? readFileSync(join(root, 'calls'), 'utf8') : ''),
    version: (name: string) => writeFileSync(join(source, 'src', 'version'), name),
    installed: () => readFileSync(join(root, 'opt/energy-gateway/src/version'), 'utf8'),
    state: () => readFileSync(join(data, 'state.db'), 'utf8'),
    install: () =>
      spawnSync('sh', [join(source, 'scripts/install')], {
        encoding: 'utf8',
        env: { PATH: `${bin}:${process.env['PATH']}`, INSTALL_ROOT: root },
      }),
  };
}

/** A runtime that the loader refuses, in the loader's words. */
const refused = (library: string): string =>
  `#!/bin/sh\necho 'node: error while loading shared libraries: ${library}: cannot open shared object file' >&2\nexit 127\n`;

describe('the installer', () => {
  test('names the package of a library that the runtime misses, before anything is changed', (t) => {
    for (const [library, name] of [
      ['libatomic.so.1', 'libatomic1'],
      ['libstdc++.so.6', 'libstdc++6'],
    ] as const) {
      const { runtime, install, calls, root } = world(t);
      runtime(refused(library));
      const { status, stderr } = install();
      assert.equal(status, 1);
      assert.match(stderr, new RegExp(`apt-get install.* ${name.replaceAll('+', '\\+')}`));
      assert.equal(calls(), '', 'the service that runs was left alone');
      assert.equal(existsSync(join(root, 'opt/energy-gateway')), false);
    }
  });

  test('copies the state before an update, and keeps the newer one when it starts', (t) => {
    const { version, install, installed, data, state } = world(t);
    version('1');
    assert.equal(install().status, 0);
    writeFileSync(join(data, 'state.db'), 'first');
    mkdirSync(join(data, 'tls'));
    writeFileSync(join(data, 'tls/authority.pem'), 'key');
    version('2');
    const { status, stderr } = install();
    assert.equal(status, 0, stderr);
    assert.equal(installed(), '2');
    assert.equal(state(), 'first');
    assert.equal(readFileSync(join(data, 'before-update/state.db'), 'utf8'), 'first');
    assert.equal(readFileSync(join(data, 'before-update/tls/authority.pem'), 'utf8'), 'key');
  });

  test('puts back programs and state when the new version does not start, and keeps what that made of it', (t) => {
    const { version, install, installed, data, state, source } = world(t);
    version('1');
    install();
    writeFileSync(join(data, 'state.db'), 'first');
    version('2');
    writeFileSync(join(source, 'src/BAD'), '');
    const { status, stderr } = install();
    assert.equal(status, 1);
    assert.match(stderr, /The state is that of before the update/);
    assert.match(stderr, /The one before runs again/);
    assert.equal(installed(), '1');
    assert.equal(state(), 'first');
    const failed = readdirSync(data).find((name) => name.startsWith('after-failed-update-')) ?? '';
    assert.equal(readFileSync(join(data, failed, 'state.db'), 'utf8'), 'migrated\n');
  });

  test('changes nothing when the state cannot be copied', (t) => {
    const { version, install, installed, data, state, stub, calls } = world(t);
    version('1');
    install();
    writeFileSync(join(data, 'state.db'), 'first');
    version('2');
    stub('cp', '#!/bin/sh\nexit 1\n');
    const { status, stderr } = install();
    assert.equal(status, 1);
    assert.match(stderr, /could not be copied, so nothing was changed/);
    assert.equal(installed(), '1');
    assert.equal(state(), 'first');
    assert.match(calls(), /start --no-block energy-gateway\.service\n$/);
  });
});

describe('the check of the runtime', () => {
  test('passes the pinned one, and tells what another one says', (t) => {
    const folder = temporaryFolder(t);
    const check = (program: string) =>
      spawnSync(join(PROJECT_ROOT, 'scripts/runtime-check'), [program], { encoding: 'utf8' });
    assert.equal(check(join(PROJECT_ROOT, 'scripts/gwnode')).status, 0);
    const broken = join(folder, 'node');
    writeFileSync(broken, '#!/bin/sh\necho "Illegal instruction" >&2\nexit 132\n', { mode: 0o755 });
    const { status, stderr } = check(broken);
    assert.equal(status, 1);
    assert.match(stderr, /does not run on this machine: Illegal instruction/);
    rmSync(broken);
    symlinkSync('/nonexistent', broken);
    assert.equal(check(broken).status, 1);
  });
});
