/** A database file that is damaged, of another site or of a newer version is not deleted but renamed, for a person. */
import { readdirSync, renameSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { isThere, removeTree } from '../files/index.ts';

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
