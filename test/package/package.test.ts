import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { packDeb } from '../../scripts/build-deb/archive.ts';
import {
  libatomic,
  PROCESSORS,
  runtimePackage,
  withLibrariesBeside,
  withoutSymbols,
} from '../../scripts/build-deb/runtime.ts';
import { buildGateway } from '../../scripts/support/built-package.ts';
import { PROJECT_ROOT, temporaryFolder } from '../support/workspace.ts';
import { listOf, processorOf } from './support.ts';

const RELEASE = '/usr/lib/energy-gateway/package';
const tarOf = (file: string, part: '--ctrl-tarfile' | '--fsys-tarfile'): Buffer =>
  execFileSync('dpkg-deb', [part, file], { maxBuffer: 500e6 });
const noDpkg = spawnSync('dpkg-deb', ['--version']).status !== 0 && 'no dpkg-deb';

describe('the package of the gateway', { skip: noDpkg }, () => {
  let folder: string;
  /** What scripts/install hands to apt. */
  let file: string;
  let root: string;
  /** All files of it. */
  let archive: Buffer;
  let list: ReturnType<typeof listOf>;

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'packages-'));
    [file, root] = [join(folder, 'handed.deb'), join(folder, 'root')];
    // In the place of the programs that would change this machine, or ask who calls.
    const program = (name: string, line: string) =>
      writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    program('apt-get', `for last; do :; done; cp "$last" ${file}`);
    program('id', 'echo 0');
    program('dpkg', 'echo amd64');
    const { status, stderr } = spawnSync(join(PROJECT_ROOT, 'scripts/install'), {
      encoding: 'utf8',
      env: { ...process.env, PATH: `${folder}:${process.env['PATH']}` },
    });
    assert.equal(status, 0, stderr);
    // Once: to take the compression off costs more than all else that is done with it.
    archive = tarOf(file, '--fsys-tarfile');
    const path = join(folder, 'handed.tar');
    writeFileSync(path, archive);
    mkdirSync(root);
    execFileSync('tar', ['-xf', path, '-C', root]);
    list = listOf(path);
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('the package of the gateway holds one processor, one driver and no sources, and is small enough', () => {
    const paths = list.map(({ path }) => path);
    assert.deepEqual(
      paths.filter((path) => path.endsWith('.node')),
      [`${RELEASE}/node_modules/better-sqlite3/prebuilds/linux-x64.node`],
    );
    assert.deepEqual(
      paths.filter((path) => /\.(?:ts|tsx|map|cpp|hpp|c|h)$/.test(path)),
      [],
    );
    // For whoever has no hardware, offered by the console.
    assert.ok(paths.includes(`${RELEASE}/dist/console/simulated-house.zip`));
    for (const { path, owner, mode } of list) {
      assert.equal(owner, 'root/root', path);
      assert.doesNotMatch(mode, /^-....w|^-.......w|^-..s/, path);
    }
    const machines = readdirSync(root, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => processorOf(join(entry.parentPath, entry.name)))
      .filter((found) => found !== undefined);
    // The runtime, the library that it needs and a minimal Debian lacks, and the driver.
    assert.deepEqual(machines, ['amd64', 'amd64', 'amd64']);
    const installedBytes = list.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    assert.ok(installedBytes < 150e6, `${installedBytes} bytes`);
    assert.ok(statSync(file).size < 60e6, `${statSync(file).size} bytes, packed with the least effort`);
  });

  test('the package unpacks the deciding script before the unit that needs it', () => {
    const paths = list.map(({ path }) => path);
    const script = paths.indexOf('/usr/lib/energy-gateway/guard');
    assert.ok(script >= 0);
    assert.ok(script < paths.indexOf('/usr/lib/systemd/system/energy-gateway.service'));
  });

  test('the package of the gateway names its dependencies, and its options as a file of the owner', (t) => {
    const field = (name: string) => execFileSync('dpkg-deb', ['--field', file, name], { encoding: 'utf8' });
    for (const name of ['libstdc++6', 'libc6 (>= 2.34)', 'systemd'])
      assert.ok(field('Depends').includes(name), name);
    assert.ok(!field('Depends').includes('libatomic1'), 'a minimal Debian has none');
    const control = temporaryFolder(t);
    execFileSync('dpkg-deb', ['--control', file, control]);
    assert.equal(
      readFileSync(join(control, 'conffiles'), 'utf8'),
      '/etc/energy-gateway/energy-gateway.env\n',
    );
  });

  test('the package of the gateway is the same byte by byte when it is packed again', (t) => {
    const again = buildGateway(temporaryFolder(t));
    // Unpacked: to compress it a second time takes longer than all else.
    assert.ok(tarOf(again.file, '--fsys-tarfile').equals(archive), 'files');
    assert.ok(tarOf(again.file, '--ctrl-tarfile').equals(tarOf(file, '--ctrl-tarfile')), 'control');
  });
});

test(
  'a package for distribution is compressed by xz, and one for this machine quickly',
  { skip: noDpkg },
  (t) => {
    const root = join(temporaryFolder(t), 'root');
    mkdirSync(join(root, 'DEBIAN'), { recursive: true });
    const fields = [
      'Package: x',
      'Version: 1',
      'Architecture: all',
      'Maintainer: x <x@x>',
      'Description: x',
      '',
    ];
    writeFileSync(join(root, 'DEBIAN/control'), fields.join('\n'));
    for (const [level, member] of [
      [6, 'data.tar.xz'],
      [0, 'data.tar.zst'],
    ] as const) {
      const file = join(root, '..', `${level}.deb`);
      packDeb({ root, file, level, source: PROJECT_ROOT });
      assert.ok(readFileSync(file).includes(member), member);
    }
  },
);

describe('the runtime in the package', () => {
  test('the runtime in the package is the pinned one without its symbols, and runs', (t) => {
    const whole = readFileSync(join(runtimePackage(PROJECT_ROOT, 'amd64'), 'bin/node'));
    const trimmed = withoutSymbols(whole);
    assert.ok(trimmed.length < whole.length * 0.8, `${trimmed.length} of ${whole.length} bytes`);
    const program = join(temporaryFolder(t), 'node');
    writeFileSync(program, trimmed, { mode: 0o755 });
    assert.equal(
      execFileSync(program, ['-p', 'process.version'], { encoding: 'utf8' }),
      execFileSync(process.execPath, ['-p', 'process.version'], { encoding: 'utf8' }),
    );
  });

  test('the runtime in the package is refused when it is no program', () => {
    assert.throws(() => withoutSymbols(Buffer.alloc(64)), /not a program/);
    assert.throws(() => withLibrariesBeside(Buffer.alloc(64), '/nowhere'), /no room for a search path/);
  });

  test('the runtime in the package takes the library of its own folder before the one of the system', (t) => {
    const folder = temporaryFolder(t);
    const program = readFileSync(join(runtimePackage(PROJECT_ROOT, 'amd64'), 'bin/node'));
    const changed = withLibrariesBeside(withoutSymbols(program), '/nowhere');
    writeFileSync(join(folder, 'node'), changed, { mode: 0o755 });
    writeFileSync(join(folder, 'libatomic.so.1'), libatomic(PROJECT_ROOT, 'amd64').library);
    const libraries = execFileSync('ldd', [join(folder, 'node')], { encoding: 'utf8' });
    assert.ok(libraries.includes(`libatomic.so.1 => ${folder}/libatomic.so.1`), libraries);
    // Without the environment, as the gateway starts its child programs.
    assert.equal(execFileSync(join(folder, 'node'), ['-p', '1 + 1'], { encoding: 'utf8', env: {} }), '2\n');
  });

  test('the runtime in the package takes the library of its folder where the loader does not know that folder', (t) => {
    const [folder, installed] = [temporaryFolder(t), temporaryFolder(t)];
    const program = readFileSync(join(runtimePackage(PROJECT_ROOT, 'amd64'), 'bin/node'));
    const changed = withLibrariesBeside(withoutSymbols(program), installed);
    writeFileSync(join(folder, 'node'), changed, { mode: 0o755 });
    writeFileSync(join(installed, 'libatomic.so.1'), libatomic(PROJECT_ROOT, 'amd64').library);
    const libraries = execFileSync('ldd', [join(folder, 'node')], { encoding: 'utf8' });
    assert.ok(libraries.includes(`libatomic.so.1 => ${installed}/libatomic.so.1`), libraries);
  });

  test('the runtime in the package comes with the libraries of both processors', () => {
    for (const processor of PROCESSORS)
      assert.equal(libatomic(PROJECT_ROOT, processor).library.readUInt32BE(0), 0x7f454c46, processor);
  });
});
