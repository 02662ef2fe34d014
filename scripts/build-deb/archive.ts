/** A staged tree as a `.deb` whose bytes depend on its content only. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmodSync, lutimesSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/** For sources without a history: 1 January 2026. */
const TIME_DEFAULT_S = 1_767_225_600;

/** Every entry below the folder, in the order of the paths. */
function entriesOf(folder: string) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .map((entry) => ({ entry, path: join(entry.parentPath, entry.name) }))
    .sort((one, other) => (one.path < other.path ? -1 : 1));
}

/** Sum of the sizes of the files below a folder. */
export function sizeOf(folder: string): number {
  return entriesOf(folder)
    .filter(({ entry }) => entry.isFile())
    .reduce((sum, { path }) => sum + statSync(path).size, 0);
}

/** Hash of paths and contents of all files below a folder. */
export function digestOf(folder: string): string {
  const hash = createHash('sha256');
  for (const { entry, path } of entriesOf(folder))
    if (entry.isFile()) hash.update(`${relative(folder, path)}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

/** What `dpkg --verify` compares with. */
function writeSums(root: string): void {
  const lines = entriesOf(root)
    .filter(({ entry, path }) => entry.isFile() && !path.startsWith(join(root, 'DEBIAN')))
    .filter(({ path }) => !path.startsWith(join(root, 'etc')))
    .map(
      ({ path }) =>
        `${createHash('md5').update(readFileSync(path)).digest('hex')}  ${relative(root, path)}\n`,
    );
  writeFileSync(join(root, 'DEBIAN/md5sums'), lines.join(''), { mode: 0o644 });
}

/** Unix second of the last commit, or as the environment says: what is made of the same sources has the same time. */
export function timeOf(source: string): number {
  const given = process.env['SOURCE_DATE_EPOCH'];
  if (given !== undefined) return Number(given);
  try {
    const text = execFileSync('git', ['-C', source, 'log', '-1', '--format=%ct'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return Number(text);
  } catch {
    // Sources without a history, or a machine without git: any fixed time will do.
    return TIME_DEFAULT_S;
  }
}

/** What is installed at once need not be small. dpkg reads both since Debian 12. */
function compressionOf(level: number | undefined): string[] {
  if (level === undefined) return ['-Znone'];
  return level === 0 ? ['-Zzstd', '-z1'] : ['-Zxz', `-z${level}`];
}

/** Gives everything fixed rights and times, and packs it with one thread, as more would change the bytes. */
export function packDeb(options: {
  root: string;
  file: string;
  /** Effort of xz, 0: the least of zstd, which takes a twentieth of the time; undefined: none. */
  level: number | undefined;
  source: string;
}): void {
  const { root } = options;
  writeSums(root);
  const timeS = timeOf(options.source);
  const entries = entriesOf(root);
  for (const { entry, path } of entries) {
    if (!entry.isSymbolicLink())
      chmodSync(path, entry.isDirectory() || statSync(path).mode & 0o100 ? 0o755 : 0o644);
    lutimesSync(path, timeS, timeS);
  }
  chmodSync(root, 0o755);
  lutimesSync(root, timeS, timeS);
  execFileSync(
    'dpkg-deb',
    ['--root-owner-group', '--threads-max=1', ...compressionOf(options.level), '--build', root, options.file],
    { stdio: ['ignore', 'ignore', 'inherit'], env: { ...process.env, SOURCE_DATE_EPOCH: String(timeS) } },
  );
}
