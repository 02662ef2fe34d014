/** The pinned Node.js for a processor that need not be the one of this machine. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

/** As Debian calls them. */
export const PROCESSORS = ['amd64', 'arm64'] as const;

export type Processor = (typeof PROCESSORS)[number];

/** As npm calls them, in the names of packages and of native files. */
export const NPM_PROCESSOR: Record<Processor, string> = { amd64: 'x64', arm64: 'arm64' };

interface LockedPackage {
  version: string;
  integrity: string;
}

/**
 * Folder of the package that brings Node.js for a processor: the installed one, or one that was fetched by npm, is
 * held to the hash of package-lock.json and stays in `node_modules/.cache`.
 */
export function runtimePackage(source: string, processor: Processor): string {
  const name = `node-linux-${NPM_PROCESSOR[processor]}`;
  const installed = join(source, 'node_modules', name);
  if (existsSync(join(installed, 'bin/node'))) return installed;
  const lock = JSON.parse(readFileSync(join(source, 'package-lock.json'), 'utf8')) as {
    packages: Record<string, LockedPackage | undefined>;
  };
  const locked = lock.packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json does not know ${name}`);
  const folder = join(source, 'node_modules/.cache/build-deb', `${name}-${locked.version}`);
  if (!existsSync(folder)) fetchPackage(name, locked, folder);
  return folder;
}

function fetchPackage(name: string, locked: LockedPackage, folder: string): void {
  const draft = `${folder}.new`;
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { recursive: true });
  execFileSync('npm', ['pack', `${name}@${locked.version}`, '--silent', '--pack-destination', draft], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const archive = join(draft, `${name}-${locked.version}.tgz`);
  const found = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (found !== locked.integrity)
    throw new Error(
      `${name}@${locked.version} is not the one of package-lock.json: ${found}, not ${locked.integrity}`,
    );
  execFileSync('tar', ['-xzf', archive, '-C', draft, '--strip-components=1', '--no-same-owner']);
  rmSync(archive);
  renameSync(draft, folder);
}

const ELF_MAGIC = 0x7f454c46;
const ELF_64_BIT_LITTLE_ENDIAN = 0x0201;
/** Fields of the file header and of a program header (elf(5)), as offsets. */
const HEADER = {
  class: 4,
  programs: 32,
  sections: 40,
  programSize: 54,
  programCount: 56,
  sectionCount: 60,
  sectionNames: 62,
};
const PROGRAM = { type: 0, offset: 8, address: 16, fileSize: 32, memorySize: 40 };
const LOADED = 1;
const DYNAMIC = 2;
/** Tags of the table that the loader reads (elf(5)). */
const TAG = { end: 0n, strings: 5n, stringsSize: 10n, searchPath: 29n };
const TAG_BYTES = 16;

interface Segment {
  /** Place of its header. */
  at: number;
  type: number;
  offset: number;
  /** Behind its last byte in the file. */
  end: number;
}

function segmentsOf(program: Buffer): Segment[] {
  const first = Number(program.readBigUInt64LE(HEADER.programs));
  const size = program.readUInt16LE(HEADER.programSize);
  return Array.from({ length: program.readUInt16LE(HEADER.programCount) }, (_, index) => {
    const at = first + index * size;
    const offset = Number(program.readBigUInt64LE(at + PROGRAM.offset));
    const end = offset + Number(program.readBigUInt64LE(at + PROGRAM.fileSize));
    return { at, type: program.readUInt32LE(at + PROGRAM.type), offset, end };
  });
}

/**
 * A program without what only debuggers read: whatever lies behind the last segment that is loaded, and the table of
 * sections. A fifth of Node.js; its native stacks then have no names. The same on every machine, as no tool is asked.
 */
export function withoutSymbols(program: Buffer): Buffer {
  if (
    program.readUInt32BE(0) !== ELF_MAGIC ||
    program.readUInt16BE(HEADER.class) !== ELF_64_BIT_LITTLE_ENDIAN
  )
    throw new Error('not a program for a 64-bit little-endian processor');
  const trimmed = Buffer.from(program.subarray(0, Math.max(...segmentsOf(program).map(({ end }) => end))));
  trimmed.writeBigUInt64LE(0n, HEADER.sections);
  trimmed.writeUInt16LE(0, HEADER.sectionCount);
  trimmed.writeUInt16LE(0, HEADER.sectionNames);
  return trimmed;
}

/**
 * A program that looks for libraries in its own folder before those of the system (DT_RUNPATH, `$ORIGIN`). The path is
 * written into the free bytes behind the first loaded segment, which is extended by them.
 * @param installedAt the folder where the program is installed: the loader does not know it where /proc is not mounted
 */
export function withLibrariesBeside(program: Buffer, installedAt: string): Buffer {
  const [first, second] = segmentsOf(program).filter(({ type }) => type === LOADED);
  const dynamic = segmentsOf(program).find(({ type }) => type === DYNAMIC);
  const path = Buffer.from(`$ORIGIN:${installedAt}\0`);
  if (!first || !second || !dynamic || second.offset - first.end < path.length)
    throw new Error('the program has no room for a search path');
  const changed = Buffer.from(program);
  changed.set(path, first.end);
  for (const field of [PROGRAM.fileSize, PROGRAM.memorySize])
    changed.writeBigUInt64LE(BigInt(first.end - first.offset + path.length), first.at + field);
  const base = changed.readBigUInt64LE(first.at + PROGRAM.address) - BigInt(first.offset);
  const address = base + BigInt(first.end);

  const entries = new Map<bigint, number>();
  for (let at = dynamic.offset; at < dynamic.end; at += TAG_BYTES) {
    const tag = changed.readBigUInt64LE(at);
    if (!entries.has(tag)) entries.set(tag, at);
  }
  const [free, strings, stringsSize] = [TAG.end, TAG.strings, TAG.stringsSize].map((tag) => entries.get(tag));
  // The table ends with an empty entry, so one more has to be free.
  if (
    free === undefined ||
    free + 2 * TAG_BYTES > dynamic.end ||
    strings === undefined ||
    stringsSize === undefined
  )
    throw new Error('the program has no room for a search path');
  const within = address - changed.readBigUInt64LE(strings + TAG_BYTES / 2);
  changed.writeBigUInt64LE(within + BigInt(path.length), stringsSize + TAG_BYTES / 2);
  changed.writeBigUInt64LE(TAG.searchPath, free);
  changed.writeBigUInt64LE(within, free + TAG_BYTES / 2);
  return changed;
}

const LIBATOMIC = 'scripts/build-deb/libatomic';

/** The one library that the runtime needs and a minimal Debian lacks, from Debian's own package, its licence and version. */
export function libatomic(
  source: string,
  processor: Processor,
): { library: Buffer; license: Buffer; version: string } {
  const folder = join(source, LIBATOMIC);
  const name = readdirSync(folder).find((file) => file.endsWith(`_${processor}.deb`));
  if (name === undefined) throw new Error(`no package for ${processor} in ${folder}`);
  const archive = execFileSync('dpkg-deb', ['--fsys-tarfile', join(folder, name)]);
  const library = execFileSync('tar', ['-xO', '--wildcards', '*/libatomic.so.1.*'], { input: archive });
  const [, version = ''] = name.split('_');
  return { library, license: readFileSync(join(folder, 'LICENSE')), version };
}
