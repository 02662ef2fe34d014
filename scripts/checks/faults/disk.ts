/**
 * A disk of its own for a data folder: an ext4 image that can be filled, broken, and cut from its power. The image is
 * sparse and lies on a file system in memory, so that the room behind it can end before the image does: then writing
 * fails as on a card that dies. Needs root, loop devices, mkfs.ext4 and e2fsck.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Random } from '../../support/random.ts';

const IMAGE_BYTES = 320 * 1_048_576;
const MEMORY_BYTES = 512 * 1_048_576;
/** Room that is taken by writing: more than others take between two steps. */
const ROOM_BYTES = 1_048_576;
/** Files that the disk can hold: so few that they can be used up. */
const INODES = 4_096;
/** What a card writes at once or not at all. */
const SECTOR_BYTES = 512;
/** Page of the medium, and of the file system on it. */
const PAGE_BYTES = 4_096;
/** Ends of e2fsck up to this one: clean, or corrected. */
const E2FSCK_CORRECTED_MAX = 3;
const UNMOUNT_MS_MAX = 10_000;
const POLL_MS = 50;
const FILLER = 'filler';
const PROBE = 'probe';
const MANY = 'many';

export interface DataDisk {
  /** Where it is mounted: the data folder. */
  readonly folder: string;
  /** Takes the last byte. */
  fill(): void;
  /** Takes the last place for a file. */
  useUpInodes(): void;
  /** Gives back what `fill` and `useUpInodes` took. */
  empty(): void;
  /** From now on whatever needs new room of the medium fails. Nobody may be writing. */
  breakMedium(): void;
  /** The medium has room again. */
  freeMedium(): void;
  /** The medium works again; what it refused is in the memory of the system alone. False: the file system has given up. */
  reviveMedium(): boolean;
  /** The medium works again; the file system is mounted anew. Nobody may use it. */
  mendMedium(): void;
  setReadOnly(isReadOnly: boolean): void;
  /** What others than the gateway wrote into the folder is on the medium too. */
  settle(): void;
  /** Room, and a medium that takes data. Nobody may use it. */
  restore(): void;
  /**
   * What a cut of power may leave of the folder: of every sector written and not known to be on the medium either the
   * old or the new content, by chance, in no order. Whoever writes must stand still; call `apply` when he is gone.
   */
  cutPower(random: Random): { apply: () => void; tornSectors: number };
  remove(): void;
}

/** What this machine lacks for a disk of its own; empty when nothing. */
export function missingForDisks(): string[] {
  return [
    ...(process.getuid?.() === 0 ? [] : ['root']),
    ...(existsSync('/dev/loop-control') ? [] : ['loop devices (/dev/loop-control)']),
    ...(isWritable('/sys/block') ? [] : ['settings of loop devices (/sys/block)']),
    ...['mkfs.ext4', 'e2fsck', 'losetup', 'mount', 'umount'].filter((tool) => !isInstalled(tool)),
  ];
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function isInstalled(tool: string): boolean {
  return ['/usr/sbin', '/sbin', '/usr/bin', '/bin'].some((folder) => existsSync(join(folder, tool)));
}

/** @param base an existing folder that takes image and mounts */
export function createDataDisk(base: string, folder: string): DataDisk {
  const memory = join(base, 'medium');
  const image = join(memory, 'disk.img');
  const spare = join(memory, 'spare');
  for (const each of [memory, folder]) mkdirSync(each, { recursive: true });
  run('mount', '-t', 'tmpfs', '-o', `size=${MEMORY_BYTES}`, 'tmpfs', memory);
  writeFileSync(image, '');
  truncateSync(image, IMAGE_BYTES);
  const sizes = ['-b', String(PAGE_BYTES), '-N', String(INODES)];
  run('mkfs.ext4', '-q', '-F', ...sizes, '-E', 'lazy_itable_init=0,lazy_journal_init=0', image);
  mountImage(image, folder);
  const disk: DataDisk = {
    folder,
    fill: () => {
      // Without writing it; the rest is written, so that no byte is left.
      spawnSync('fallocate', ['--length', String(freeBytes(folder) - ROOM_BYTES), join(folder, FILLER)]);
      takeAll(join(folder, FILLER));
    },
    useUpInodes: () => useUpInodes(join(folder, MANY)),
    empty: () => {
      rmSync(join(folder, FILLER), { force: true });
      rmSync(join(folder, MANY), { recursive: true, force: true });
    },
    breakMedium: () => {
      resizeMedium(memory, MEMORY_BYTES - freeBytes(memory) + ROOM_BYTES);
      takeAll(spare);
    },
    freeMedium: () => {
      rmSync(spare, { force: true });
      resizeMedium(memory, MEMORY_BYTES);
    },
    reviveMedium: () => {
      disk.freeMedium();
      // The first sync reports what failed; later callers get errors of their own.
      spawnSync('sync', ['-f', folder]);
      return takesData(join(folder, PROBE));
    },
    mendMedium: () => {
      disk.freeMedium();
      unmountImage(image, folder);
      repair(image);
      mountImage(image, folder);
    },
    setReadOnly: (isReadOnly) => run('mount', '-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, folder),
    settle: () => run('sync', '-f', folder),
    restore: () => {
      disk.mendMedium();
      disk.empty();
    },
    cutPower: (random) => cutPower(folder, image, join(base, 'cut'), random),
    remove: () => {
      // A fault that ended halfway may have left it unmounted, and is the one to report.
      if (isMounted(folder)) run('umount', '--lazy', folder);
      run('umount', '--lazy', memory);
    },
  };
  return disk;
}

/**
 * What is removed from it gives back its room on the medium. A loop device takes a write that ended halfway for a whole
 * one (`lo_complete_rq` of Linux 6.18): requests are single pages, of which the medium takes all or nothing.
 */
function mountImage(image: string, folder: string): void {
  run('mount', '-o', 'loop,discard', image, folder);
  const [device = ''] = loopsOf(image).split(':');
  writeFileSync(`/sys/block/${basename(device)}/queue/max_sectors_kb`, String(PAGE_BYTES / 1_024));
}

const isMounted = (folder: string): boolean =>
  readFileSync('/proc/self/mounts', 'utf8').includes(` ${folder} `);

const loopsOf = (image: string): string =>
  execFileSync('losetup', ['--associated', image], { encoding: 'utf8' }).trim();

/**
 * A program that was started with a copy of all mounts keeps the file system alive: it would be repaired under the
 * kernel's hands, and mounted as it was.
 * @throws Error
 */
function unmountImage(image: string, folder: string): void {
  run('umount', folder);
  for (let waitedMs = 0; loopsOf(image) !== ''; waitedMs += POLL_MS) {
    if (waitedMs >= UNMOUNT_MS_MAX) throw new Error('another program keeps the disk of the data mounted');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS);
  }
}

/** As at every boot after the kernel met errors: an ext4 that is mounted with them goes on losing what is written. */
function repair(image: string): void {
  const { status, stdout } = spawnSync('e2fsck', ['-f', '-y', image], { encoding: 'utf8' });
  if (status === null || status > E2FSCK_CORRECTED_MAX) throw new Error(`e2fsck: ${stdout}`);
}

function resizeMedium(memory: string, sizeBytes: number): void {
  run('mount', '-o', `remount,size=${sizeBytes}`, memory);
}

/** Those for root included. */
function freeBytes(folder: string): number {
  const { bfree, bsize } = statfsSync(folder);
  return bfree * bsize;
}

/** @throws Error with what the tool says */
function run(tool: string, ...args: string[]): void {
  execFileSync(tool, args, { stdio: ['ignore', 'ignore', 'pipe'] });
}

/** To the last byte. */
function takeAll(path: string): void {
  const file = openSync(path, 'a');
  try {
    for (let sizeBytes = 1_048_576; sizeBytes >= 1;)
      if (!fits(() => writeSync(file, Buffer.alloc(sizeBytes, 7)) === sizeBytes))
        sizeBytes = Math.floor(sizeBytes / 2);
    fits(() => fsyncSync(file));
  } finally {
    closeSync(file);
  }
}

/** Whether a file can be made, written and synced. */
function takesData(path: string): boolean {
  try {
    writeFileSync(path, 'probe', { flush: true });
    rmSync(path);
    return true;
  } catch (error) {
    if (['EROFS', 'EIO', 'ENOSPC'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

function useUpInodes(folder: string): void {
  if (!fits(() => mkdirSync(folder, { recursive: true }))) return;
  for (let number = 0; fits(() => writeFileSync(join(folder, String(number)), '')); number++);
}

/** False when there was no room for it. */
function fits(write: () => unknown): boolean {
  try {
    return write() !== false;
  } catch (error) {
    if (['ENOSPC', 'EIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
}

interface Content {
  inode: number;
  bytes: Buffer;
}

/**
 * The page cache, read through the mount, has everything that was written; the image behind it only what the kernel
 * has written back, which is everything that was synced. A sector that differs between the two was on its way.
 */
function cutPower(
  folder: string,
  image: string,
  base: string,
  random: Random,
): { apply: () => void; tornSectors: number } {
  const written = contentsOf(folder);
  const onMedium = contentsOfImage(image, base);
  const left = new Map<string, Buffer>();
  let tornSectors = 0;
  for (const name of new Set([...written.keys(), ...onMedium.keys()])) {
    const [after, before] = [written.get(name), onMedium.get(name)];
    if (after && before?.inode === after.inode) {
      const torn = tearOf(before.bytes, after.bytes, random);
      tornSectors += torn.sectors;
      left.set(name, torn.bytes);
      continue;
    }
    // Made, renamed or removed since: one or the other is there.
    const kept = random.chance(0.5) ? after : before;
    if (after?.bytes !== before?.bytes) tornSectors += 1;
    if (kept) left.set(name, kept.bytes);
  }
  return {
    tornSectors,
    apply: () => {
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
      for (const [name, bytes] of left) {
        mkdirSync(dirname(join(folder, name)), { recursive: true, mode: 0o700 });
        writeFileSync(join(folder, name), bytes, { mode: 0o600 });
      }
    },
  };
}

/** Each sector as it was or as it is; so is the length. */
function tearOf(before: Buffer, after: Buffer, random: Random): { bytes: Buffer; sectors: number } {
  const bytes = Buffer.alloc(Math.max(before.length, after.length));
  let sectors = 0;
  for (let offset = 0; offset < bytes.length; offset += SECTOR_BYTES) {
    const [old, now] = [before, after].map((content) => content.subarray(offset, offset + SECTOR_BYTES)) as [
      Buffer,
      Buffer,
    ];
    if (old.equals(now)) {
      now.copy(bytes, offset);
      continue;
    }
    sectors += 1;
    (random.chance(0.5) ? now : old).copy(bytes, offset);
  }
  const length = random.chance(0.5) ? after.length : before.length;
  return { bytes: bytes.subarray(0, length), sectors };
}

function contentsOfImage(image: string, base: string): Map<string, Content> {
  const copy = `${base}.img`;
  const mount = base;
  mkdirSync(mount, { recursive: true });
  try {
    copyOfOneMoment(image, copy);
    run('mount', '-o', 'loop', copy, mount);
    try {
      return contentsOf(mount);
    } finally {
      run('umount', mount);
    }
  } finally {
    rmSync(copy, { force: true });
  }
}

/**
 * The kernel goes on writing back what it has: a copy with the end of one commit and the middle of another is of no
 * moment that there was. One that equals the image after it is of the moment between.
 */
function copyOfOneMoment(image: string, copy: string): void {
  do run('cp', '--sparse=always', image, copy);
  while (spawnSync('cmp', ['--silent', image, copy]).status !== 0);
}

/** Every file by its path below the folder. */
function contentsOf(folder: string): Map<string, Content> {
  const contents = new Map<string, Content>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const { ino: inode, ...stat } = statSync(join(folder, name));
    if (name.startsWith('lost+found') || !isFile(folder, name) || stat.size > IMAGE_BYTES) continue;
    contents.set(name, { inode, bytes: readFileSync(join(folder, name)) });
  }
  return contents;
}

function isFile(folder: string, name: string): boolean {
  return statSync(join(folder, name)).isFile();
}

/** Copies a folder of data, without what stands for a running process. @param copy How one file is copied. */
export function copyData(
  from: string,
  to: string,
  copy: (from: string, to: string) => void = copyFileSync,
): void {
  mkdirSync(to, { recursive: true, mode: 0o700 });
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    if (/^lost\+found$|^gateway\.lock|^filler$|^many$/.test(entry.name)) continue;
    const [source, target] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) copyData(source, target, copy);
    else copy(source, target);
  }
}
