/** The pinned Node.js for a processor that need not be the one of this machine. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
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
const PROGRAM = { offset: 8, fileSize: 32 };

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
  const first = Number(program.readBigUInt64LE(HEADER.programs));
  const size = program.readUInt16LE(HEADER.programSize);
  const ends = Array.from({ length: program.readUInt16LE(HEADER.programCount) }, (_, index) => {
    const at = first + index * size;
    return Number(
      program.readBigUInt64LE(at + PROGRAM.offset) + program.readBigUInt64LE(at + PROGRAM.fileSize),
    );
  });
  const trimmed = Buffer.from(program.subarray(0, Math.max(...ends)));
  trimmed.writeBigUInt64LE(0n, HEADER.sections);
  trimmed.writeUInt16LE(0, HEADER.sectionCount);
  trimmed.writeUInt16LE(0, HEADER.sectionNames);
  return trimmed;
}
