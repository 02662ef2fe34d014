/** Local commands about data that was damaged, missing or of another site: the gateway went on without it, and kept it. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type EpochMs, formatTimestamp } from '../lib/time.ts';
import {
  HISTORY_SALVAGE,
  openDatabase,
  removeSetAside,
  salvageRest,
  setAsideOf,
  tryLockFolder,
} from '../platform/sqlite/index.ts';
import { type Command, type Local, table, tried, UsageError } from './command.ts';
import { isThere, packagePath, removeTree } from '../platform/files/index.ts';

interface Found {
  /** Below the data folder. */
  name: string;
  what: string;
  sizeBytes: number;
  writtenAtMs: EpochMs;
  remove: () => void;
}

const ALL = 'all';
const DATABASES = ['state.db', 'history.db', 'telemetry-journal'];
const JOURNAL = 'telemetry-journal';
/** Notes that keep an alert raised, and folders that a restore left. */
const OTHERS: readonly [pattern: RegExp, what: string][] = [
  [/^history-missing\.json$/, 'note: history was missing'],
  [/^state-recovery\.json$/, 'note: state.db was recovered'],
  [/^changes-lost\.json$/, 'note: changes may be missing'],
  [/^restore-not-done\.json$/, 'note: a backup was not restored'],
  [/^before-restore-\d+$/, 'state before a backup was restored'],
  [/^restore-given-up-\d+$/, 'content of a backup that was not restored'],
];

export const SET_ASIDE_COMMANDS: Record<string, Command> = {
  'list-set-aside': {
    takes: [],
    prepare:
      () =>
      ({ config, withState }) =>
        withState(() => filesTable(config.dataDir)),
  },
  'remove-set-aside': {
    takes: ['what'],
    prepare:
      (_values, [what = '']) =>
      ({ config: { dataDir }, withState }) =>
        withState(({ record }) => {
          const chosen = found(dataDir).filter(({ name }) => what === ALL || name === what);
          if (what !== ALL && chosen.length === 0)
            throw new UsageError(`there is no "${what}"; list-set-aside has the names`);
          for (const { remove } of chosen) remove();
          record('admin_remove_set_aside', { what });
          return chosen.map(({ name }) => `removed ${name}`);
        }),
  },
  'salvage-history': {
    takes: ['file'],
    prepare:
      (_values, [file = '']) =>
      async (local) => {
        const rows = salvage(local, file);
        await local.withState(({ record }) => record('admin_salvage_history', { file }));
        return [`${rows} rows of ${file} are in history.db now; remove-set-aside ${file} removes the file`];
      },
  },
};

/** Copies what can be read of a damaged history.db into the one that was begun after it. The gateway must be stopped. */
function salvage({ config: { dataDir }, clock, log }: Local, file: string): number {
  const lock = tryLockFolder({ dataDir, clock, log });
  if (!lock) throw new UsageError('stop the gateway first: systemctl stop energy-gateway');
  try {
    const path = join(dataDir, 'history.db');
    const damaged = setAsideOf(path).find(
      (one) => one.kind === 'damaged' && one.path === join(dataDir, file),
    );
    if (!damaged) throw new UsageError(`there is no damaged history "${file}"; list-set-aside has the names`);
    if (!isThere(path)) throw new UsageError('start the gateway once, so that there is a history.db');
    const migrationsDir = packagePath('migrations', 'history');
    const database = openDatabase({ path, migrationsDir, isFirst: true, clock, log });
    try {
      return tried(
        () => salvageRest(damaged.path, database, HISTORY_SALVAGE),
        (reason) => `${file} cannot be taken over: ${reason}`,
      );
    } finally {
      database.close();
    }
  } finally {
    lock.release();
  }
}

function found(dataDir: string): Found[] {
  const databases = DATABASES.flatMap((name) => setAsideOf(join(dataDir, name))).map((aside): Found => ({
    name: aside.path.slice(join(dataDir, '/').length),
    what: aside.kind === 'damaged' ? 'damaged' : 'of another site or version',
    sizeBytes: aside.sizeBytes,
    writtenAtMs: aside.writtenAtMs,
    remove: () => void removeSetAside(aside),
  }));
  const segments = namesIn(join(dataDir, JOURNAL))
    .filter((name) => name.endsWith('.damaged'))
    .map((name) => fileFound(dataDir, join(JOURNAL, name), 'damaged'));
  const others = namesIn(dataDir).flatMap((name) => {
    const what = OTHERS.find(([pattern]) => pattern.test(name))?.[1];
    return what === undefined ? [] : [fileFound(dataDir, name, what)];
  });
  return [...databases, ...segments, ...others];
}

function fileFound(dataDir: string, name: string, what: string): Found {
  const path = join(dataDir, name);
  const own = statSync(path);
  const files = own.isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : [''];
  const sizes = files
    .map((file) => statSync(join(path, file)))
    .map((stat) => (stat.isFile() ? stat.size : 0));
  return {
    name,
    what,
    sizeBytes: sizes.reduce((sum, size) => sum + size, 0),
    writtenAtMs: own.mtimeMs,
    remove: () => removeTree(path),
  };
}

const namesIn = (folder: string): string[] => (existsSync(folder) ? readdirSync(folder) : []);

function filesTable(dataDir: string): string[] {
  const rows = found(dataDir).map(({ name, what, sizeBytes, writtenAtMs }) => [
    name,
    what,
    String(sizeBytes),
    formatTimestamp(Math.round(writtenAtMs)),
  ]);
  return rows.length === 0 ? ['No file was set aside.'] : table(['NAME', 'WHAT', 'BYTES', 'WRITTEN'], rows);
}
