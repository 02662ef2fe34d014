/** Small files that only the user of the gateway may read: codes and keys. */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  type Stats,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { messageOf, UnrecoverableError } from '../../lib/errors.ts';
import { staysRefused, unlessRefused } from '../../lib/system-fault.ts';

/** Replaces the file as a whole: after a crash it is the old or the new one, synced, with mode 0600. */
export function writePrivateFile(path: string, text: string): void {
  makePrivateFolder(dirname(path));
  const draft = `${path}.new`;
  // Removes the rest of a crash, or an obstacle such as a pipe, which would be waited for.
  removeFile(draft);
  try {
    const file = openSync(draft, 'wx', 0o600);
    try {
      // All of it or an error: a disk that becomes full takes a part in one write.
      writeFileSync(file, text);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    renameSync(draft, path);
  } catch (error) {
    removeFile(draft);
    throw error;
  }
  syncFolder(dirname(path));
}

/**
 * What a file holds. Something else of its name is not even opened: a pipe would hold the whole program until somebody
 * writes to it, and some devices never end. @throws Error naming the path and what stands there
 */
export function readPlainFile(path: string): Buffer {
  requireNoObstacle(path);
  return readFileSync(path);
}

const KINDS: [name: string, is: (found: Stats) => boolean][] = [
  ['folder', (found) => found.isDirectory()],
  ['named pipe', (found) => found.isFIFO()],
  ['socket', (found) => found.isSocket()],
  ['device', (found) => found.isCharacterDevice() || found.isBlockDevice()],
];

/** Whether the path exists. @throws Error when the disk does not answer, which is no reason to begin anything anew */
export function isThere(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** True only when the path certainly does not exist; false while the disk does not answer. */
export function isGone(path: string): boolean {
  return unlessRefused(
    () => !isThere(path),
    () => false,
  );
}

/** Accepts a file, and a missing path. @throws Error naming the path and what is in its place */
export function requireNoObstacle(path: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  const kind = found && KINDS.find(([, is]) => is(found))?.[0];
  if (kind !== undefined) throw new Error(`${path} is a ${kind} where a file is expected`);
}

/**
 * With the folders above it; one that is there already stays as it is. One by one: where the system makes no folders and
 * says that there is none, as below /proc, the recursive way of the runtime tries for ever.
 */
export function makePrivateFolder(path: string): void {
  const missing: string[] = [];
  for (let folder = resolve(path); !isFolder(folder); folder = dirname(folder)) missing.unshift(folder);
  for (const folder of missing) {
    try {
      mkdirSync(folder, { mode: 0o700 });
    } catch (error) {
      // Somebody else may have made it in between.
      if (!isFolder(folder)) throw error;
    }
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Does nothing when there is no such file yet. @throws UnrecoverableError naming the file and what to do, when something
 * else is in its place or it belongs to another user; the refusal itself when it may pass
 */
export function requireUsableFile(path: string): void {
  if (!existsSync(path)) return;
  try {
    requireNoObstacle(path);
    // A local command removes a log when it closes the database.
    unlessAbsent(() => accessSync(path, constants.R_OK | constants.W_OK));
  } catch (cause) {
    // A disk that is read-only or fails may be well at the next try.
    if (!isLasting(cause)) throw cause;
    const user = process.getuid?.() ?? 'unknown';
    throw new UnrecoverableError(
      `${path} cannot be used by user ${user} (${messageOf(cause)}). ` +
        'Make it a file that this user may read and write, or move it away.',
      { cause },
    );
  }
}

/** After a new name in the folder: until then a cut of power may bring the old one back. */
export function syncFolder(path: string): void {
  syncFile(path);
}

/** Brings the content of the file to the disk, whichever process wrote it. */
export function syncFile(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/** The same for a file or folder, off the event loop: a USB stick may take minutes for what was copied onto it. */
export async function syncBeside(path: string): Promise<void> {
  // A pipe in its place would be waited for.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Undefined when there is no such file. */
export function readPrivateFile(path: string): string | undefined {
  try {
    return readPlainFile(path).toString('utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

/**
 * A note that the gateway left for itself, in JSON. Undefined when there is none, or none that can be read, which is reported:
 * a disk may leave zeros of it, and nothing that works may end for want of a note.
 */
export function readNote(path: string, onUnreadable: (error: unknown) => void): unknown {
  try {
    const text = readPrivateFile(path);
    return text === undefined ? undefined : (JSON.parse(text) ?? undefined);
  } catch (error) {
    onUnreadable(error);
    return undefined;
  }
}

/** Does nothing when there is no such file. The runtime's own `rmSync` gives most refusals of a disk no code. */
export function removeFile(path: string): void {
  unlessAbsent(() => unlinkSync(path));
}

/** The same for a folder with all its content; a link is removed and not followed. */
export function removeTree(path: string): void {
  unlessAbsent(() => {
    if (!lstatSync(path).isDirectory()) return unlinkSync(path);
    for (const name of readdirSync(path)) removeTree(join(path, name));
    rmdirSync(path);
  });
}

/** Undefined when the path is missing, or below a file; another process may have removed it first. */
export function unlessAbsent<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    const isAbsent =
      error instanceof Error && 'code' in error && /^ENOENT$|^ENOTDIR$/.test(String(error.code));
    if (isAbsent) return undefined;
    throw error;
  }
}

/**
 * Writes what comes, and syncs it; resolves with its bytes. Nothing is left of it when it fails, and nothing is being written
 * any more, so that its folder can be removed.
 */
export async function keepStream(
  path: string,
  stream: ReadableStream<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<number> {
  makePrivateFolder(dirname(path));
  removeFile(path);
  const file = await open(path, 'wx', 0o600);
  try {
    let sizeBytes = 0;
    for await (const chunk of stream) {
      await file.writeFile(chunk);
      sizeBytes += chunk.length;
    }
    // A rename or a report that the file exists relies on its content being on the disk.
    await file.datasync();
    return sizeBytes;
  } catch (error) {
    removeFile(path);
    throw error;
  } finally {
    await file.close();
  }
}

// Which refusals of a path last until a person acts, and which may be over at the next try.

const { R_OK, W_OK, X_OK } = constants;

/** Rights needed for a file of the gateway, or for a folder. */
const OWN = R_OK | W_OK;

/**
 * True for what is no refusal of the system. EACCES and EPERM last when owner and mode of the path prove it: a security
 * module, a drive of the network and a disk that fails say the same once. So does a link to a disk that is not there yet
 * say the same as a file in the place of a folder.
 */
export function isLasting(error: unknown, wanted = OWN): boolean {
  const refusal = refusalIn(error);
  if (!refusal) return true;
  const path = refusal.path === undefined ? undefined : resolve(refusal.path);
  if (refusal.code === 'EACCES') return path !== undefined && lacksRights(path, wanted);
  if (refusal.code === 'EPERM') return path !== undefined && isOfOthers(path);
  return staysRefused(refusal) && !(path !== undefined && leadsNowhere(path));
}

function refusalIn(error: unknown): NodeJS.ErrnoException | undefined {
  if (!(error instanceof Error)) return undefined;
  const isRefusal = 'code' in error && /^E[A-Z0-9]+$/.test(String(error.code));
  return isRefusal ? (error as NodeJS.ErrnoException) : refusalIn(error.cause);
}

/** The rights of the path do not give what is wanted, or those of a folder above it the way to it. */
function lacksRights(path: string, wanted: number): boolean {
  if (process.geteuid?.() === 0) return false;
  const found = look(statSync, path);
  if (typeof found === 'object' && !gives(found, wanted)) return true;
  const above = dirname(path);
  return above !== path && lacksRights(above, found === 'absent' ? W_OK | X_OK : X_OK);
}

function gives({ uid, gid, mode }: Stats, wanted: number): boolean {
  const groups = [process.getegid?.(), ...(process.getgroups?.() ?? [])];
  const shift = uid === process.geteuid?.() ? 6 : groups.includes(gid) ? 3 : 0;
  return ((mode >> shift) & wanted) === wanted;
}

function isOfOthers(path: string): boolean {
  const found = look(statSync, path);
  const uid = process.geteuid?.();
  return uid !== 0 && typeof found === 'object' && found.uid !== uid;
}

/** The path, or a folder above it, is a link to what is not there. */
function leadsNowhere(path: string): boolean {
  if (look(statSync, path) !== 'absent') return false;
  const found = look(lstatSync, path);
  if (typeof found === 'object' && found.isSymbolicLink()) return true;
  const above = dirname(path);
  return above !== path && leadsNowhere(above);
}

/** What the system says of the path: its facts, that it is absent, or `untold` for any other error. */
function look(by: (path: string) => Stats, path: string): Stats | 'absent' | 'untold' {
  try {
    return by(path);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'absent' : 'untold';
  }
}

// Files that belong to the program and stand beside it: migrations, built-in blueprints and profiles. They are
// found from the package root, so that running from the sources and from the bundle sees the same ones.

let root: string | undefined;

/** Absolute path of something below the package root, the nearest folder upwards with a `package.json`. */
export function packagePath(...segments: string[]): string {
  root ??= findRoot(import.meta.dirname);
  return join(root, ...segments);
}

/** Version of the package that the program belongs to. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(packagePath('package.json'), 'utf8')) as { version: string };
  return version;
}

/**
 * Version of the package that dpkg has installed, which is not the one that runs once an upgrade has failed; undefined when
 * this program is not one of the versions of a package.
 */
export function installedVersion(): string | undefined {
  const versions = dirname(packagePath());
  const file = join(dirname(versions), 'package', 'package.json');
  if (basename(versions) !== 'versions' || !existsSync(file)) return undefined;
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}

function findRoot(from: string): string {
  if (existsSync(join(from, 'package.json'))) return from;
  const parent = dirname(from);
  if (parent === from) throw new Error('the package root was not found: no package.json above the program');
  return findRoot(parent);
}

/** Every regular file below a folder: path with `/`, relative to it, → content; in the order of the paths. */
export function readTree(dir: string): Map<string, Buffer> {
  const files = readdirSync(dir, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  return new Map(files.map((path) => [path.slice(dir.length + 1).replaceAll('\\', '/'), readFileSync(path)]));
}
