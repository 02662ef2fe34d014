/** The version of a build: one string for the package, the interface and the check of updates. */
import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

const HASH_LENGTH = 8;

/** Undefined where there is no git, no history or no such tag. */
function git(source: string, ...words: string[]): string | undefined {
  try {
    // Trusts the owner of the sources: root may install what a user checked out.
    return execFileSync('git', ['-c', `safe.directory=${source}`, '-C', source, ...words], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trimEnd();
  } catch {
    return undefined;
  }
}

/** Unix second of the newest file that is not committed; undefined: all are. */
function changedAtS(source: string): number | undefined {
  const lines = git(source, 'status', '--porcelain', '-z', '--no-renames') ?? '';
  const files = lines.split('\0').filter((line) => line !== '');
  if (files.length === 0) return undefined;
  const times = files.map(
    (line) => statSync(join(source, line.slice(3)), { throwIfNoEntry: false })?.mtimeMs,
  );
  return Math.max(...times.map((timeMs) => Math.floor((timeMs ?? 0) / 1_000)));
}

/** 1767225600 → 20260101.000000 */
function stampOf(timeS: number): string {
  const digits = new Date(timeS * 1_000).toISOString().replaceAll(/\D/g, '');
  return `${digits.slice(0, 8)}.${digits.slice(8, 14)}`;
}

/**
 * Of a tagged commit the tag; of every other one the version of package.json with time and hash of the commit, so that
 * a later build is newer for dpkg: before that version (`~`) until it is tagged, after it (`+`) from then on. What is not
 * committed adds the time of the newest change. Sources without a history have the version of package.json.
 */
export function sourceVersion(source: string): string {
  const { version } = JSON.parse(readFileSync(join(source, 'package.json'), 'utf8')) as { version: string };
  // Debian sorts a pre-release before its release only behind a tilde.
  const planned = version.replace('-', '~');
  // A checkout of this folder, and not one that it happens to lie in.
  if (git(source, 'rev-parse', '--show-prefix') !== '') return planned;
  const commit = git(source, 'log', '-1', '--format=%ct %H');
  if (commit === undefined) return planned;
  const [timeS = '0', hash = ''] = commit.split(' ');
  const changedS = changedAtS(source);
  const tag = git(source, 'describe', '--tags', '--exact-match', '--match', 'v[0-9]*');
  if (tag !== undefined && changedS === undefined) return tag.slice(1).replace('-', '~');
  const isReleased = git(source, 'merge-base', '--is-ancestor', `v${version}`, 'HEAD') !== undefined;
  const stamp = stampOf(Math.max(Number(timeS), changedS ?? 0));
  const suffix = changedS === undefined ? '' : '.changed';
  return `${planned}${isReleased ? '+' : '~'}${stamp}.${hash.slice(0, HASH_LENGTH)}${suffix}`;
}
