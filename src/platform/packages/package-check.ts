/** Whether a file may take the place of the installed version: signed by a key that it knows, and fit for this box. */
import { existsSync, statfsSync } from 'node:fs';
import { packagePath, readPlainFile } from '../files/index.ts';
import { type DebPackage, describePackage, PackageError, requireInstallable } from './deb-package.ts';
import { verifyPackage } from './signature.ts';

/** What a package is compared with. */
export interface InstalledVersion {
  /** As package.json has it. */
  version: string;
  /** Public keys (PEM) of whoever may sign; files that are not there are passed over. */
  keyFiles: readonly string[];
}

/** Those of the version that is installed, and the owner's own. */
export function updateKeyFiles(): string[] {
  return [packagePath('update-keys.pem'), '/etc/energy-gateway/update-keys.pem'];
}

const PROCESSORS: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };
/** Where packages are unpacked. */
const UNPACKED_AT = '/usr';

/** Reads the whole file; only what was signed is taken apart. @throws PackageError with a sentence for a person */
export async function judgePackage(
  path: string,
  { version, keyFiles }: InstalledVersion,
): Promise<DebPackage> {
  const trusted = keyFiles
    .filter((file) => existsSync(file))
    .map((file) => readPlainFile(file).toString('utf8'));
  if (trusted.join('').trim() === '')
    throw new PackageError(
      'unknown_key',
      'The installed version knows no key: put the public key of your packages into /etc/energy-gateway/update-keys.pem.',
    );
  await verifyPackage(path, trusted.join('\n'));
  const found = await describePackage(path, version);
  const disk = statfsSync(UNPACKED_AT);
  await requireInstallable(found, {
    version: version.replace('-', '~'),
    architecture: PROCESSORS[process.arch] ?? process.arch,
    freeBytes: disk.bavail * disk.bsize,
  });
  return found;
}
