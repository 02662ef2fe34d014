/** The local command that installs a newer version from a file: from a stick, a download, or an upload to the gateway. */
import { accessSync, constants, copyFileSync, mkdtempSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { packageVersion, removeTree } from '../platform/files/index.ts';
import { type DebPackage, judgePackage, updateKeyFiles } from '../platform/packages/index.ts';
import { requireRoot, system } from './box-commands.ts';
import { type Command, type Terminal, tried, UsageError, type Values } from './command.ts';

export const UPDATE_COMMANDS: Record<string, Command> = {
  update: {
    takes: ['package'],
    options: ['yes'],
    prepare: async (values, [path = ''], terminal) => {
      requireRoot();
      // Somebody who can write to the stick could change the file between check and installation.
      const folder = temporaryFolder();
      const copy = join(folder, 'energy-gateway.deb');
      try {
        copyOf(path, copy);
        const found = await judgePackage(copy, { version: packageVersion(), keyFiles: updateKeyFiles() });
        await agree(found, values, terminal);
        // After an interrupted update apt refuses all later ones until this was done.
        system('sh', ['-c', 'dpkg --force-confold --configure -a </dev/null || true']);
        // apt and not dpkg: it changes nothing when a package is missing that the new version needs.
        system('env', [
          'DEBIAN_FRONTEND=noninteractive',
          'apt-get',
          // The system's own updates may be under way.
          '--option=DPkg::Lock::Timeout=600',
          'install',
          '--yes',
          '--no-install-recommends',
          copy,
        ]);
        return () => [
          `Version ${found.version} is installed; energy-gateway-versions status tells whether it stays.`,
        ];
      } finally {
        removeTree(folder);
      }
    },
  },
};

function temporaryFolder(): string {
  return tried(
    () => mkdtempSync(join(tmpdir(), 'energy-gateway-update-')),
    (reason) => `In ${tmpdir()} no folder can be made, which an update needs: ${firstPart(reason)}`,
  );
}

function copyOf(path: string, copy: string): void {
  const isFile = tried(() => statSync(path).isFile());
  tried(() => accessSync(path, constants.R_OK));
  if (!isFile) throw new UsageError(`${path} is not a file`);
  tried(
    () => copyFileSync(path, copy),
    (reason) => `${path} cannot be copied to ${tmpdir()}: ${firstPart(reason)}`,
  );
}

/** Without the path of the copy, which means nothing to a person. */
const firstPart = (reason: string): string => reason.split(',', 1)[0] ?? '';

async function agree(
  { version, releaseNotes }: DebPackage,
  { yes }: Values,
  { ask, complain }: Terminal,
): Promise<void> {
  complain(`Version ${version} in the place of ${packageVersion()}.\n\n${releaseNotes}\n\n`);
  if (yes) return;
  if (!ask) throw new UsageError('give --yes; there is no terminal to ask on');
  if ((await ask('Install it? Type "yes": ')) !== 'yes') throw new UsageError('Nothing was changed.');
}
