/** What is in a package, and for which processor. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Paths in the archive of a package with mode, owner and size. */
export function listOf(archive: string): { path: string; mode: string; owner: string; sizeBytes: number }[] {
  return execFileSync('tar', ['-tvf', archive], { encoding: 'utf8', maxBuffer: 1e8 })
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/))
    .map(([mode = '', owner = '', size = '', , , path = '']) => ({
      path: path.replace(/^\./, ''),
      mode,
      owner,
      sizeBytes: Number(size),
    }));
}

/** Processor of a program or library by its header (elf(5)); undefined: neither. */
export function processorOf(path: string): string | undefined {
  const file = readFileSync(path);
  if (file.length < 20 || file.readUInt32BE(0) !== 0x7f454c46) return undefined;
  return { 62: 'amd64', 183: 'arm64' }[file.readUInt16LE(18)] ?? `machine ${file.readUInt16LE(18)}`;
}
