/** Facts about a package, and whether this box can take it. Read by `dpkg-deb` once its signature was verified. */
import { execFile, type ExecFileOptions } from 'node:child_process';
import { promisify } from 'node:util';

/** The one product that updates itself. */
const NAME = 'energy-gateway';
const CHANGES = `./usr/share/doc/${NAME}/CHANGELOG.md`;

/** Why a file is not installed. */
export type PackageProblem =
  | 'no_package'
  | 'truncated'
  | 'unsigned'
  | 'unknown_key'
  | 'changed'
  | 'other_package'
  | 'other_processor'
  | 'older'
  | 'no_room';

/** The message is for a person. */
export class PackageError extends Error {
  override name = 'PackageError';
  readonly problem: PackageProblem;

  constructor(problem: PackageProblem, message: string) {
    super(message);
    this.problem = problem;
  }
}

/** Facts about a package. */
export interface DebPackage {
  name: string;
  version: string;
  /** As Debian calls processors. */
  architecture: string;
  installedBytes: number;
  /** CHANGELOG.md above the installed version; empty when it has nothing there. */
  releaseNotes: string;
}

const LIMITS_OF_TOOL: ExecFileOptions = { encoding: 'utf8', timeout: 120_000, maxBuffer: 16 * 1_048_576 };

/** Whether the program ran and refused; that it did not run, as for want of memory, says nothing about the file. */
const isRefusal = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && typeof error.code === 'number';

async function run(program: string, words: readonly string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(program, words, LIMITS_OF_TOOL);
  return String(stdout);
}

/** Describes a package whose signature was verified. `installed` is the running version. @throws PackageError */
export async function describePackage(path: string, installed: string): Promise<DebPackage> {
  const fields = await run('dpkg-deb', [
    '--field',
    path,
    'Package',
    'Version',
    'Architecture',
    'Installed-Size',
  ]).catch((error: unknown) => {
    if (!isRefusal(error)) throw error;
    throw new PackageError('no_package', 'The file is no Debian package.');
  });
  const field = (name: string): string => new RegExp(`^${name}: (.*)$`, 'm').exec(fields)?.[1] ?? '';
  // Both ends of the pipe by the shell of the system; the path is an argument, not a part of the line.
  const changes = await run('sh', [
    '-c',
    'dpkg-deb --fsys-tarfile "$1" | tar -xOf - "$2" 2>/dev/null || true',
    'sh',
    path,
    CHANGES,
  ]);
  return {
    name: field('Package'),
    version: field('Version'),
    architecture: field('Architecture'),
    installedBytes: Number(field('Installed-Size')) * 1_024,
    releaseNotes: notesAbove(changes, installed),
  };
}

/** The sections of CHANGELOG.md that stand above the one of the installed version, and that one too for a build before its release. */
function notesAbove(changes: string, installed: string): string {
  const sections = changes.split(/^(?=## )/m).slice(1);
  const [release = ''] = installed.split(/[~+]/);
  const own = sections.findIndex(
    (section) => section.startsWith(`## ${release}`) || section.startsWith(`## [${release}`),
  );
  const count = own < 0 ? 1 : installed.includes('~') ? own + 1 : own;
  return sections.slice(0, count).join('').trim();
}

/** Refuses what does not fit this box. @throws PackageError with a sentence */
export async function requireInstallable(
  found: DebPackage,
  box: { version: string; architecture: string; freeBytes: number },
): Promise<void> {
  if (found.name !== NAME)
    throw new PackageError('other_package', `The package is ${found.name || 'without a name'}, not ${NAME}.`);
  if (found.architecture !== box.architecture)
    throw new PackageError(
      'other_processor',
      `The package is for ${found.architecture} processors; this box has one of ${box.architecture}.`,
    );
  const isNewer = await run('dpkg', ['--compare-versions', found.version, 'gt', box.version]).then(
    () => true,
    (error: unknown) => {
      if (!isRefusal(error)) throw error;
      return false;
    },
  );
  if (!isNewer)
    throw new PackageError(
      'older',
      `The package has version ${found.version}; ${box.version} is installed, and only a newer one replaces it.`,
    );
  // dpkg unpacks beside what is there, and the state is copied before the new version runs.
  const neededBytes = found.installedBytes * 2;
  if (box.freeBytes < neededBytes)
    throw new PackageError(
      'no_room',
      `The update needs ${mebibytes(neededBytes)} MiB of free room; there are ${mebibytes(box.freeBytes)}.`,
    );
}

const mebibytes = (bytes: number): number => Math.ceil(bytes / 1_048_576);
