/**
 * Copies of state.db on the same disk, in case it is damaged or lost: `backups/state-hourly-<number>-<Unix seconds>.db`
 * and `state-daily-…`. The number grows with every copy, whatever the wall clock says. The name of a copy ends in `.new`
 * until it was checked.
 */
import { readdirSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { isThere, makePrivateFolder, removeFile, removeTree, syncFile, syncFolder } from '../files/index.ts';
import { faultOfCopy } from './damage.ts';
import { withConnection } from './native.ts';

export interface CopyTask {
  /** state.db, in use. */
  path: string;
  folder: string;
  /** Wall clock. */
  nowMs: EpochMs;
  migrationsDir: string;
  keep: { hourly: number; daily: number };
}

/** A copy on this disk. */
export interface LocalCopy {
  path: string;
  /** By the wall clock, which may have been wrong. */
  madeAtMs: EpochMs;
}

type Kind = 'hourly' | 'daily';

const COPY = /^state-(hourly|daily)-(\d+)-(\d+)\.db$/;
const DRAFT = /^state-(hourly|daily)-.*\.new/;
const BEFORE_MIGRATION = /^state-before-migration-from-\d+-(\d+)\.db$/;
const DAY_MS = 86_400_000;

/** All copies of state.db in the folder, the newest first; those made before migrations come last. */
export function localCopies(folder: string): LocalCopy[] {
  const beforeMigrations = namesIn(folder).flatMap((name) => {
    const seconds = BEFORE_MIGRATION.exec(name)?.[1];
    return seconds === undefined ? [] : [{ path: join(folder, name), madeAtMs: Number(seconds) * 1_000 }];
  });
  return [...numbered(folder), ...beforeMigrations.toSorted((a, b) => b.madeAtMs - a.madeAtMs)];
}

/** Makes and checks a copy. @throws Error naming the fault of a bad copy, which is removed */
export function makeCopy({ path, folder, nowMs, migrationsDir, keep }: CopyTask): LocalCopy {
  makePrivateFolder(folder);
  for (const name of namesIn(folder).filter((left) => DRAFT.test(left))) removeFile(join(folder, name));
  const before = numbered(folder);
  const day = Math.floor(nowMs / DAY_MS);
  const hasDaily = before.some(
    ({ kind, madeAtMs }) => kind === 'daily' && Math.floor(madeAtMs / DAY_MS) === day,
  );
  const number = String((before[0]?.number ?? 0) + 1).padStart(6, '0');
  const target = join(
    folder,
    `state-${hasDaily ? 'hourly' : 'daily'}-${number}-${Math.floor(nowMs / 1_000)}.db`,
  );
  const draft = `${target}.new`;
  try {
    copyCompact(path, draft);
    const fault = faultOfCopy(draft, migrationsDir);
    if (fault !== undefined) throw new Error(`the copy of ${path} is not good: ${fault}`);
    syncFile(draft);
    renameSync(draft, target);
    syncFolder(folder);
  } finally {
    removeFile(draft);
  }
  for (const kind of ['hourly', 'daily'] as const)
    for (const old of numbered(folder)
      .filter((copy) => copy.kind === kind)
      .slice(keep[kind]))
      // A check that was killed left files beside it.
      for (const suffix of ['-wal', '-shm', '']) removeFile(old.path + suffix);
  return { path: target, madeAtMs: nowMs };
}

/** Hourly and daily copies, the newest first. */
function numbered(folder: string): (LocalCopy & { kind: Kind; number: number })[] {
  return namesIn(folder)
    .flatMap((name) => {
      const [, kind, number, seconds] = COPY.exec(name) ?? [];
      if (kind === undefined) return [];
      const madeAtMs = Number(seconds) * 1_000;
      return [{ path: join(folder, name), kind: kind as Kind, number: Number(number), madeAtMs }];
    })
    .toSorted((a, b) => b.number - a.number);
}

/** Copies a database, which may be in use, without its free pages. Takes long for a large one. */
export function copyCompact(path: string, draft: string): void {
  withConnection(path, (handle) => handle.prepare('VACUUM INTO ?').run(draft));
}

/** Empty where there is no folder. @throws for a folder that cannot be read: it may have copies */
function namesIn(folder: string): string[] {
  return statSync(folder, { throwIfNoEntry: false })?.isDirectory() ? readdirSync(folder) : [];
}

// A database file that is damaged, of another site or of a newer version is renamed and kept, for a person to look at.

/** A file that was set aside, or a folder that belongs to it. */
export interface SetAside {
  kind: 'damaged' | 'foreign';
  path: string;
  /** Including its companions. */
  sizeBytes: number;
  /** Time of the last write. */
  writtenAtMs: EpochMs;
}

const DAMAGED = '.damaged-';
const FOREIGN = '.of-';
const NEWER = 'schema-';
const COMPANIONS = ['-wal', '-shm'];

/** Path of a database, or a folder beside it, that is set aside for another site. */
export function foreignPath(path: string, siteId: string): string {
  return path + FOREIGN + siteId;
}

/** In place of a site id, for a file of a newer version, whose site is unknown. */
export function nameOfNewer(schema: number): string {
  return `${NEWER}${schema}`;
}

/** Path of the newest file that was of a newer version, and that a program of this schema can read. */
export function newestOfNewer(path: string, schema: number): string | undefined {
  const start = path + FOREIGN + NEWER;
  const isReadable = (found: string): boolean =>
    found.startsWith(start) && Number.parseInt(found.slice(start.length), 10) <= schema;
  return setAsideOf(path).findLast((found) => isReadable(found.path))?.path;
}

/** The path, with a number if it is taken. */
export function freeName(path: string): string {
  if (!isThere(path)) return path;
  for (let number = 2; ; number++) if (!isThere(`${path}-${number}`)) return `${path}-${number}`;
}

/** The files that were set aside for a database, or for a folder beside it; the one written last comes last. */
export function setAsideOf(path: string): SetAside[] {
  const [folder, name] = [dirname(path), basename(path)];
  const names = isThere(folder) ? readdirSync(folder) : [];
  return names
    .filter((found) => !COMPANIONS.some((suffix) => found.endsWith(suffix)))
    .flatMap((found): SetAside[] => {
      const isDamaged = isNameOfDamaged(found, path);
      if (!isDamaged && !found.startsWith(name + FOREIGN)) return [];
      return [{ kind: isDamaged ? 'damaged' : 'foreign', ...measured(join(folder, found)) }];
    })
    .toSorted((a, b) => a.writtenAtMs - b.writtenAtMs || a.path.localeCompare(b.path));
}

function isNameOfDamaged(name: string, path: string): boolean {
  return name.startsWith(basename(path) + DAMAGED);
}

/** Removes it with its companions; returns the bytes. */
export function removeSetAside({ path, sizeBytes }: Pick<SetAside, 'path' | 'sizeBytes'>): number {
  for (const suffix of [...COMPANIONS, '']) removeTree(path + suffix);
  return sizeBytes;
}

function measured(path: string): Pick<SetAside, 'path' | 'sizeBytes' | 'writtenAtMs'> {
  const parts = ['', ...COMPANIONS].map((suffix) => path + suffix);
  const files = parts.flatMap((part) => {
    const stat = statSync(part, { throwIfNoEntry: false });
    if (!stat?.isDirectory()) return stat ? [stat] : [];
    return readdirSync(part).flatMap((name) => statSync(join(part, name), { throwIfNoEntry: false }) ?? []);
  });
  return {
    path,
    sizeBytes: files.reduce((sum, { size }) => sum + size, 0),
    writtenAtMs: Math.max(0, ...files.map(({ mtimeMs }) => mtimeMs)),
  };
}

/** Renames a closed database with its companions; returns the new path. */
export function setAside(path: string, clock: Clock): string {
  const aside = freeName(`${path}${DAMAGED}${Math.floor(clock.wallMs() / 1_000)}`);
  for (const suffix of ['', ...COMPANIONS])
    if (isThere(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}
