/** Packages that people could be handed: each is refused in a sentence, before anything of it is used. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import {
  describePackage,
  signPackage,
  verifyPackage,
  requireInstallable,
} from '../../../src/platform/packages/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';
import { key, noDpkg, signed } from './support.ts';

const BOX = { version: '0.1.0', architecture: 'arm64', freeBytes: 1e9 };

describe('a package is refused', { skip: noDpkg }, () => {
  test('a package is refused when it is no package', async (t) => {
    const file = join(temporaryFolder(t), 'x');
    writeFileSync(file, 'PK');
    await assert.rejects(verifyPackage(file, ''), { problem: 'no_package', message: /is no Debian package/ });
  });

  test('a package is refused when it is not signed', async (t) => {
    const { unsigned, trusted } = await signed(t);
    await assert.rejects(verifyPackage(unsigned, trusted), { problem: 'unsigned', message: /is not signed/ });
  });

  test('a package is refused when its signature is by a key which is not trusted', async (t) => {
    const { folder, file } = await signed(t);
    const other = key(folder, 'other').publicPem;
    await assert.rejects(verifyPackage(file, other), { problem: 'unknown_key', message: /does not know/ });
  });

  test('a package is refused at whichever byte it was changed', async (t) => {
    const { file, trusted } = await signed(t);
    const whole = readFileSync(file);
    for (let at = 0; at < whole.length; at += Math.ceil(whole.length / 200)) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      writeFileSync(file, bytes);
      await assert.rejects(verifyPackage(file, trusted), { name: 'PackageError' }, `byte ${at}`);
    }
  });

  test('a package is refused at any byte of its signature', async (t) => {
    const { file, unsigned, trusted } = await signed(t);
    const whole = readFileSync(file);
    for (let at = readFileSync(unsigned).length; at < whole.length; at++) {
      const bytes = Buffer.from(whole);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      writeFileSync(file, bytes);
      await assert.rejects(verifyPackage(file, trusted), { name: 'PackageError' }, `byte ${at}`);
    }
  });

  test('a package that is cut off or has something appended is refused', async (t) => {
    const { file, trusted } = await signed(t);
    const whole = readFileSync(file);
    for (let length = 0; length < whole.length; length += Math.ceil(whole.length / 100)) {
      writeFileSync(file, whole.subarray(0, length));
      await assert.rejects(verifyPackage(file, trusted), { name: 'PackageError' }, `${length} bytes`);
    }
    writeFileSync(file, Buffer.concat([whole, Buffer.from('data.tar.xz     more')]));
    await assert.rejects(verifyPackage(file, trusted), { problem: 'changed' });
  });

  const rows: [string, Record<string, string>, Partial<typeof BOX>, RegExp][] = [
    [
      'for another processor',
      { Architecture: 'amd64' },
      {},
      /for amd64 processors; this box has one of arm64/,
    ],
    ['that is older', { Version: '0.0.9' }, {}, /0\.0\.9; 0\.1\.0 is installed/],
    ['that is the same', { Version: '0.1.0' }, {}, /only a newer one/],
    ['before its release where that is installed', { Version: '0.1.0~rc.1' }, {}, /only a newer one/],
    ['that is another one', { Package: 'energy-gateway-module' }, {}, /is energy-gateway-module, not/],
    ['without room', {}, { freeBytes: 1e6 }, /needs 2 MiB of free room; there are 1/],
  ];
  for (const [title, fields, box, message] of rows)
    test(title, async (t) => {
      const { file, trusted } = await signed(t, fields);
      await verifyPackage(file, trusted);
      await assert.rejects(requireInstallable(await describePackage(file, '0.1.0'), { ...BOX, ...box }), {
        message,
      });
    });
});

test(
  'a verification program that cannot be started is no verdict on a package',
  { skip: noDpkg },
  async (t) => {
    const { file } = await signed(t);
    const found = await describePackage(file, '0.1.0');
    const { PATH } = process.env;
    t.after(() => (process.env['PATH'] = PATH));
    process.env['PATH'] = '/nowhere';
    for (const judged of [describePackage(file, '0.1.0'), requireInstallable(found, BOX)])
      await assert.rejects(judged, { code: 'ENOENT' });
  },
);

describe('a package that is signed', { skip: noDpkg }, () => {
  test('a package that is signed is taken by each version that knows one of its keys, and shows what is new', async (t) => {
    const { folder, file, trusted } = await signed(t);
    const next = key(folder, 'next').publicPem;
    await verifyPackage(file, `${next}\n${trusted}`);
    const found = await describePackage(file, '0.1.0');
    await requireInstallable(found, BOX);
    assert.equal(found.releaseNotes, '## 0.2.0\n\n- pumps are quieter');
  });

  test('a package that is signed has the same bytes when it is signed again, and is what dpkg installs', async (t) => {
    const { folder, file, unsigned } = await signed(t);
    await signPackage(unsigned, readFileSync(join(folder, 'release.pem'), 'utf8'));
    assert.ok(readFileSync(unsigned).equals(readFileSync(file)));
    assert.match(execFileSync('dpkg-deb', ['--contents', file], { encoding: 'utf8' }), /CHANGELOG\.md/);
    assert.match(execFileSync('dpkg-deb', ['--field', file, 'Version'], { encoding: 'utf8' }), /0\.2\.0/);
  });
});
