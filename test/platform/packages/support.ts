/** Packages of a newer version as `npm run build-deb` signs them, with next to nothing in them. */
import { execFileSync, spawnSync } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { publicKeyOf, signPackage } from '../../../src/platform/packages/index.ts';
import { temporaryFolder } from '../../support/workspace.ts';

export const noDpkg = spawnSync('dpkg-deb', ['--version']).status !== 0 && 'no dpkg-deb';

export function key(folder: string, name: string): { privatePem: string; publicPem: string } {
  const { privateKey } = generateKeyPairSync('ed25519');
  const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const file = join(folder, `${name}.pem`);
  writeFileSync(file, privatePem, { mode: 0o600 });
  return { privatePem, publicPem: publicKeyOf(file) };
}

function deb(folder: string, fields: Record<string, string> = {}): string {
  const root = join(folder, 'tree');
  const docs = join(root, 'usr/share/doc/energy-gateway');
  mkdirSync(join(root, 'DEBIAN'), { recursive: true });
  mkdirSync(docs, { recursive: true });
  writeFileSync(
    join(docs, 'CHANGELOG.md'),
    '# Changelog\n\n## 0.2.0\n\n- pumps are quieter\n\n## 0.1.0\n\n- first\n',
  );
  const control = {
    Package: 'energy-gateway',
    Version: '0.2.0',
    Architecture: 'arm64',
    Maintainer: 'x <x@localhost>',
    'Installed-Size': '1000',
    Description: 'x',
    ...fields,
  };
  writeFileSync(
    join(root, 'DEBIAN/control'),
    Object.entries(control)
      .map(([name, value]) => `${name}: ${value}\n`)
      .join(''),
  );
  const file = join(folder, 'package.deb');
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zgzip', '--build', root, file], { stdio: 'ignore' });
  return file;
}

export async function signed(t: TestContext, fields?: Record<string, string>) {
  const folder = temporaryFolder(t);
  const file = deb(folder, fields);
  const keys = key(folder, 'release');
  const unsigned = `${file}.unsigned`;
  copyFileSync(file, unsigned);
  await signPackage(file, keys.privatePem);
  return { folder, file, unsigned, trusted: keys.publicPem };
}
