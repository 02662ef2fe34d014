/** Local commands about data that was damaged, missing or of another site: the gateway went on without it, and kept it. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { EpochMs } from '../lib/time.ts';
import { formatTimestamp } from '../lib/timestamp.ts';
import { isSalvaging, removeSetAside, setAsideOf } from '../platform/sqlite/index.ts';
import { type Command, table, UsageError } from './command.ts';
import { removeTree } from '../platform/files/index.ts';

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
  [/^state-recovery\.json$/, 'note: state.db came back from a copy'],
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
          if (isSalvaging(join(dataDir, 'history.db')) && chosen.some(({ name }) => isDamagedHistory(name)))
            throw new UsageError('the gateway still reads what it can of it; try again later');
          if (what !== ALL && chosen.length === 0)
            throw new UsageError(`there is no "${what}"; list-set-aside has the names`);
          for (const { remove } of chosen) remove();
          record('admin_remove_set_aside', { what });
          return chosen.map(({ name }) => `removed ${name}`);
        }),
  },
};

const isDamagedHistory = (name: string): boolean => name.startsWith('history.db.damaged-');

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
