/** Local commands that end something: the data, the installation, the site on this box. Each asks twice. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, copyFileSync, existsSync, mkdtempSync, readdirSync, statSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../lib/errors.ts';
import { saveBackup } from '../platform/backup/index.ts';
import { packageVersion, removeFile, removeTree, secretKeysPath } from '../platform/files/index.ts';
import { type DebPackage, judgePackage, updateKeyFiles } from '../platform/packages/index.ts';
import { passwordOf } from './backup-commands.ts';
import { type Command, openFile, type Terminal, tried, UsageError, type Values } from './command.ts';

const SERVICE = 'energy-gateway.service';
const GO_ON_HERE = `Back here instead: systemctl enable --now ${SERVICE}`;

export const BOX_COMMANDS: Record<string, Command> = {
  'factory-reset': {
    takes: [],
    options: ['confirm'],
    prepare: async (values, _given, terminal, config) => {
      const { dataDir } = config;
      requireRoot();
      await confirm(
        `All data in ${dataDir} is deleted: devices, rules, users, keys, history.`,
        values,
        terminal,
      );
      const wasRunning = stopService();
      for (const name of readdirSync(dataDir))
        // removeTree does not follow links out of the folder.
        removeTree(join(dataDir, name));
      removeFile(secretKeysPath(config));
      if (wasRunning) system('systemctl', ['start', '--no-block', SERVICE]);
      return () => [
        'The data is deleted. Options in /etc stay, and so do backups elsewhere.',
        wasRunning
          ? `The gateway starts anew; its claim code: ${join(dataDir, 'claim-code')}, in some seconds.`
          : 'The next start of the gateway makes a new site and a new claim code.',
      ];
    },
  },
  move: {
    takes: ['file'],
    options: ['password-file', 'confirm'],
    prepare: async (values, [path = ''], terminal) => {
      requireRoot();
      if (existsSync(path)) throw new UsageError(`${path} exists already`);
      const password = await passwordOf(values, terminal, { isNew: true });
      await confirm(
        'The gateway on this box ends, and does not start with the system any more.',
        values,
        terminal,
      );
      const file = await openFile(path, 'wx');
      if (stopService()) system('systemctl', ['disable', SERVICE]);
      return ({ config, clock, log, withState }) =>
        withState(async ({ database, record }) => {
          const { dataDir } = config;
          const historyPath = join(dataDir, 'history.db');
          record('admin_move', {});
          const options = {
            database,
            dataDir,
            secretKeysPath: secretKeysPath(config),
            clock,
            log,
            version: packageVersion(),
            historyPath: existsSync(historyPath) ? historyPath : undefined,
          };
          await saveBackup(options, password, () => file).catch((cause: unknown) => {
            throw new Error(`${messageOf(cause)}\nThe gateway is off now. ${GO_ON_HERE}`, { cause });
          });
          return [
            `The site with its history is in ${path}. On the other box, with the same or a newer version:`,
            `  energy-gateway restore ${path}`,
            '  systemctl restart energy-gateway',
            'Give it the name or address of this one, so that devices find it. The data here stays until:',
            '  energy-gateway uninstall --delete-data',
            GO_ON_HERE,
          ];
        });
    },
  },
  uninstall: {
    takes: [],
    options: ['delete-data', 'confirm'],
    prepare: async (values, _given, terminal, { dataDir }) => {
      requireRoot();
      const isAll = values['delete-data'];
      await confirm(
        isAll
          ? `The gateway and all data in ${dataDir} are removed.`
          : 'The gateway is removed; its data stays.',
        values,
        terminal,
      );
      const environment = [
        `ENERGY_GATEWAY_PURGE_DATA=${isAll ? 'yes' : 'no'}`,
        'DEBIAN_FRONTEND=noninteractive',
      ];
      system('env', [...environment, 'apt-get', isAll ? 'purge' : 'remove', '--yes', 'energy-gateway']);
      return () => [
        isAll
          ? 'What remains: the system user energy-gateway, lines in the journal, and backups elsewhere.'
          : `What remains: data in ${dataDir}, options in /etc/energy-gateway, the system user energy-gateway.`,
      ];
    },
  },
};

function requireRoot(): void {
  if (process.getuid?.() !== 0) throw new UsageError('This has to be run by root, with sudo.');
}

/** Asks two questions with different answers, so that nobody confirms by habit. @throws UsageError for any other answer */
async function confirm(
  what: string,
  { confirm: given }: Pick<Values, 'confirm'>,
  { ask, complain }: Terminal,
): Promise<void> {
  const machine = hostname();
  if (given !== undefined) {
    if (given !== machine) throw new UsageError(`--confirm has to be the name of this machine, ${machine}`);
    return;
  }
  if (!ask) throw new UsageError(`give --confirm ${machine}; there is no terminal to ask on`);
  complain(`${what}\n`);
  if ((await ask('Go on? Type "yes": ')) !== 'yes') throw new UsageError('Nothing was changed.');
  if ((await ask(`This cannot be taken back. Type the name of this machine, ${machine}: `)) !== machine)
    throw new UsageError('Nothing was changed.');
}

/** Whether it was running. */
function stopService(): boolean {
  const isRunning = spawnSync('systemctl', ['is-active', '--quiet', SERVICE]).status === 0;
  if (isRunning) system('systemctl', ['stop', SERVICE]);
  return isRunning;
}

/** Runs a program, whose output is shown. @throws Error when it fails */
function system(program: string, words: readonly string[]): void {
  const { status, error } = spawnSync(program, words, { stdio: 'inherit' });
  if (status !== 0)
    throw new Error(`${program} ${words[0] ?? ''} failed (${error ? messageOf(error) : status}).`);
}

// The local command that installs a newer version from a file: from a stick, a download, or an upload to the gateway.

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
