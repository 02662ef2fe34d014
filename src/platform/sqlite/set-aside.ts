/**
 * A database file that is damaged, of another site or of a newer version is never deleted at once: it is renamed, for a
 * person to look at.
 */
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { EpochMs } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { isThere } from '../files/index.ts';

/** A file, or a folder that belongs to such a database. */
export interface SetAside {
  kind: 'damaged' | 'foreign';
  path: string;
  /** With everything that belongs to it. */
  sizeBytes: number;
  /** When it was written last. */
  writtenAtMs: EpochMs;
}

const DAMAGED = '.damaged-';
const FOREIGN = '.of-';
const NEWER = 'schema-';
const COMPANIONS = ['-wal', '-shm'];

/** Where a database, or a folder beside it, of another site lies. */
export function foreignPath(path: string, siteId: string): string {
  return path + FOREIGN + siteId;
}

/** In the place of a site: it is of whatever site, in a form that only a newer version reads. */
export function nameOfNewer(schema: number): string {
  return `${NEWER}${schema}`;
}

/** Where the one of a newer version lies that a program of this schema can read; the one that was written last. */
export function newestOfNewer(path: string, schema: number): string | undefined {
  const start = path + FOREIGN + NEWER;
  const isReadable = (found: string): boolean =>
    found.startsWith(start) && Number.parseInt(found.slice(start.length), 10) <= schema;
  return setAsideOf(path).findLast((found) => isReadable(found.path))?.path;
}

/** What is there already is not written over. */
export function freeName(path: string): string {
  if (!isThere(path)) return path;
  for (let number = 2; ; number++) if (!isThere(`${path}-${number}`)) return `${path}-${number}`;
}

/** What was set aside of a database, or of a folder beside it; the one that was written last comes last. */
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

/** Whether a name is one that `setAside` gives a damaged database. */
export function isNameOfDamaged(name: string, path: string): boolean {
  return name.startsWith(basename(path) + DAMAGED);
}

/** With everything that belongs to it; returns the bytes. */
export function removeSetAside({ path, sizeBytes }: Pick<SetAside, 'path' | 'sizeBytes'>): number {
  for (const suffix of [...COMPANIONS, '']) rmSync(path + suffix, { recursive: true, force: true });
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

/** Renames a closed database with its companions; returns the new path, which `onNamed` is told before anything moves. */
export function setAside(path: string, clock: Clock, onNamed?: (aside: string) => void): string {
  const aside = freeName(`${path}${DAMAGED}${Math.floor(clock.wallMs() / 1_000)}`);
  onNamed?.(aside);
  for (const suffix of ['', ...COMPANIONS])
    if (isThere(path + suffix)) renameSync(path + suffix, aside + suffix);
  return aside;
}
