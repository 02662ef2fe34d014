/**
 * How a child program is started, with fewer rights than the gateway has: no environment, no open files but its
 * channel and the log, a session of its own, and the permission model of Node, which lets it read its code and
 * nothing else. What each program may do on top is said by its owner (docs/security.md).
 */
import { type ChildProcess, fork, spawnSync } from 'node:child_process';
import { existsSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { unlessRefused } from '../../lib/system-fault.ts';
import { packagePath } from '../files/index.ts';

/** Rights of a program beside computing, reading its own code and starting worker threads. */
export interface ProgramRights {
  /** Opens connections and listens. */
  network: boolean;
  /** Device files that it may open for reading and writing. */
  deviceFiles: readonly string[];
  /** Folders whose files it may read. */
  readFolders?: readonly string[];
  /** Starts programs of the system. Whatever may do this can get around all other bounds. */
  systemPrograms: boolean;
}

export const NO_RIGHTS: ProgramRights = { network: false, deviceFiles: [], systemPrograms: false };

export interface LaunchOptions {
  /** From `programEntry`. */
  entry: string;
  /** Options of Node for the child. */
  nodeOptions: readonly string[];
  rights: ProgramRights;
}

/** The C library's arenas keep the memory of threads that ended: with one for all it goes back. */
const ENVIRONMENT = { MALLOC_ARENA_MAX: '1' };

/** @throws Error when the system has no room for another process */
export function launch(options: LaunchOptions): ChildProcess {
  const node = [...options.nodeOptions, ...permissionOptions(options)];
  const launcher = deathSignalLauncher();
  const child = fork(options.entry, [], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    env: ENVIRONMENT,
    // A process group of its own: whatever it has started is ended with it.
    detached: true,
    ...(launcher === undefined
      ? { execArgv: node }
      : {
          execPath: launcher,
          execArgv: ['--no-new-privs', '--pdeathsig', 'KILL', '--', process.execPath, ...node],
        }),
  });
  if (child.pid !== undefined) endBeforeGateway(child.pid);
  return child;
}

/** The highest: with 500 the gateway, which is larger, was still chosen in a memory limit of 190 MB. */
const OOM_SCORE = 1_000;

/** When memory is out, the kernel ends a child, which is restarted, and not the gateway, where the system allows to ask for it. */
function endBeforeGateway(processId: number): void {
  unlessRefused(
    () => writeFileSync(`/proc/${processId}/oom_score_adj`, String(OOM_SCORE)),
    () => undefined,
  );
}

/** Ends a program and everything that it has started. False: there is nobody any more. */
export function killGroup(processId: number): boolean {
  try {
    return process.kill(-processId, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

/** Code of the package that it belongs to, without the data folder, which may be beside it. */
const CODE = ['package.json', 'dist', 'src', 'node_modules'];

function permissionOptions({ entry, rights }: LaunchOptions): string[] {
  const code = [dirname(entry), ...CODE.map((name) => join(packageRootOf(entry), name))];
  return [
    '--permission',
    // A thread could start another one with every right: threads give this one up first (platform/threads).
    '--allow-worker',
    '--disable-warning=PERM0003',
    '--disable-warning=PERM0006',
    '--disable-warning=ExperimentalWarning',
    ...[...code, ...rights.deviceFiles, ...(rights.readFolders ?? [])].flatMap(readOptions),
    ...rights.deviceFiles.map((path) => `--allow-fs-write=${path}`),
    ...(rights.network ? ['--allow-net'] : []),
    ...(rights.systemPrograms ? ['--allow-child-process'] : []),
  ];
}

/** Node asks for files by the name given and by the one behind all links. */
function readOptions(path: string): string[] {
  const names = existsSync(path) ? new Set([path, realpathSync(path)]) : [path];
  return [...names].map((name) => `--allow-fs-read=${name}`);
}

/** The nearest folder upwards with a `package.json`. */
function packageRootOf(entry: string): string {
  let folder = dirname(entry);
  while (!existsSync(join(folder, 'package.json')) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

const SETPRIV = '/usr/bin/setpriv';
let isLauncherUsable: boolean | undefined;

/**
 * `setpriv` of the system has the kernel end the child with the gateway, whatever either of them does: one that was
 * stopped, or is stuck, does not notice that its channel closed. Undefined where the system has none that can.
 */
function deathSignalLauncher(): string | undefined {
  isLauncherUsable ??=
    existsSync(SETPRIV) &&
    spawnSync(SETPRIV, ['--no-new-privs', '--pdeathsig', 'KILL', '--', 'true']).status === 0;
  return isLauncherUsable ? SETPRIV : undefined;
}

/**
 * Absolute path of the entry point of a child program or worker thread, for `fork` and `new Worker`. The name
 * is the module's path below `src/` without its ending, such as `scripting/rule-sandbox/main`; it is also a row
 * of the table of programs in `scripts/build.ts`. The bundle leads to the `.js` file of that name below `dist/`, the
 * sources to the `.ts` file, or with `--conditions=bundled` to the bundle too: tests start it in a seventh of the time.
 */
export function programEntry(name: string): string {
  const fromSources = import.meta.filename.endsWith('.ts');
  return fromSources
    ? fileURLToPath(import.meta.resolve(`#programs/${name}`))
    : packagePath('dist', `${name}.js`);
}
