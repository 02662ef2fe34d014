/** Local commands that move a gateway to another box, or back to an earlier state. */
import { isUtf8 } from 'node:buffer';
import { existsSync, readFileSync, statSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { LIMITS } from '../lib/limits.ts';
import {
  endRehearsal,
  isPlainCopy,
  isRehearsalDue,
  prepareCopyRestore,
  prepareRestore,
  saveBackup,
} from '../platform/backup/index.ts';
import { packageVersion, secretKeysPath } from '../platform/files/index.ts';
import {
  type Command,
  openFile,
  type Run,
  type Terminal,
  tried,
  UsageError,
  type Values,
} from './command.ts';

export const BACKUP_COMMANDS: Record<string, Command> = {
  backup: {
    takes: ['file'],
    options: ['password-file'],
    prepare: async (values, [path = ''], terminal) => {
      if (existsSync(path)) throw new UsageError(`${path} exists already`);
      const password = await passwordOf(values, terminal, { isNew: true });
      const file = await openFile(path, 'wx');
      return ({ config, clock, log, withState }) =>
        withState(async ({ database, record }) => {
          const { dataDir } = config;
          const parts = { database, dataDir, secretKeysPath: secretKeysPath(config), clock, log };
          const options = { ...parts, version: packageVersion() };
          await saveBackup(options, password, () => file);
          record('admin_backup', {});
          return [`The backup stands in ${path}. Nobody can open it without its password.`];
        });
    },
  },
  restore: {
    takes: ['file'],
    options: ['password-file', 'rehearsal'],
    prepare: async (values, [path = ''], terminal) => {
      const { rehearsal: isRehearsal } = values;
      const file = await openFile(path, 'r');
      if (await isPlainCopy(file)) return restoreCopy(path, file, isRehearsal);
      const password = await passwordOf(values, terminal, { isNew: false });
      return async ({ config: { dataDir }, clock }) => {
        const info = await prepareRestore({ file, password, dataDir, clock, isRehearsal });
        await file.close();
        return [
          `The backup of ${info.made_at}, made by version ${info.version}, is ready.`,
          ...takenOver(isRehearsal),
        ];
      };
    },
  },
  'end-rehearsal': {
    takes: [],
    prepare:
      () =>
      ({ config: { dataDir }, withState }) => {
        if (!isRehearsalDue(dataDir)) throw new UsageError('this gateway is no rehearsal');
        return withState(({ record }) => {
          endRehearsal(dataDir);
          record('admin_end_rehearsal', {});
          return [
            'The rehearsal has ended. A running gateway restarts within a minute, and sends from then on.',
          ];
        });
      },
  },
};

/** A copy that the gateway made of its state.db has no password. */
function restoreCopy(path: string, file: FileHandle, isRehearsal: boolean): Run {
  const walBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0;
  if (walBytes > 0)
    throw new UsageError(
      `${path} is in use or was not closed: what it holds last stands in ${path}-wal. Take a copy from backups/.`,
    );
  return async ({ config: { dataDir }, clock }) => {
    await prepareCopyRestore({ file, dataDir, clock, isRehearsal });
    await file.close();
    return [
      `${path} is a plain copy of the state of a gateway, and is ready. The keys in tls/ stay as they are.`,
      ...takenOver(isRehearsal),
    ];
  };
}

const takenOver = (isRehearsal: boolean): string[] => [
  'The gateway takes it over when it is started the next time; what is here now is kept beside it.',
  'Tokens that were revoked since then are valid again: see list-tokens.',
  ...(isRehearsal ? ['It sends nothing and runs no rules until an owner ends that: see end-rehearsal.'] : []),
];

export async function passwordOf(
  { 'password-file': path }: Values,
  { askSecret: ask }: Terminal,
  { isNew }: { isNew: boolean },
): Promise<string> {
  if (path !== undefined) return judged(firstLineOf(path));
  if (!ask) throw new UsageError('give --password-file; there is no terminal to ask on');
  const password = judged(await ask('Password of the backup: '));
  if (isNew && (await ask('The same again: ')) !== password) throw new UsageError('the passwords differ');
  return password;
}

function judged(password: string): string {
  const { passwordLengthMin, passwordLengthMax } = LIMITS.backup;
  if (password.length >= passwordLengthMin && password.length <= passwordLengthMax) return password;
  throw new UsageError(`the password must have ${passwordLengthMin} to ${passwordLengthMax} characters`);
}

function firstLineOf(path: string): string {
  const bytes = tried(() => readFileSync(path));
  if (!isUtf8(bytes)) throw new UsageError(`${path} is not UTF-8: nobody could type its password elsewhere`);
  // A byte order mark, which some editors write, belongs to no password.
  return new TextDecoder().decode(bytes).split(/\r?\n/, 1)[0] ?? '';
}
