/** Whether a device file is a serial line that this program may use, or a serial server answers. */
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { access, constants, readFile, stat } from 'node:fs/promises';
import net from 'node:net';
import { promisify } from 'node:util';
import { isSerialServer, parseSerialServer, type SerialServer } from '../../lib/address.ts';
import { messageOf } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { unlessRefused } from '../../lib/system-fault.ts';

const STTY = '/bin/stty';
const STTY_MS = 5_000;

/** Undefined when it is; else why not, for people. */
export async function serialLineProblem(path: string): Promise<string | undefined> {
  if (isSerialServer(path)) {
    const server = parseSerialServer(path);
    return typeof server === 'string' ? server : serverProblem(server);
  }
  try {
    if (!(await stat(path)).isCharacterDevice()) return 'is no serial line';
    await access(path, constants.R_OK | constants.W_OK);
    await promisify(execFile)(STTY, ['-F', path, '-a'], { timeout: STTY_MS, env: {} });
    return undefined;
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ENOENT') return 'no such device file';
    if (code === 'EACCES')
      return 'permission denied; the service must be in the group of the file, mostly dialout';
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr).trim() : '';
    return said === '' ? messageOf(error) : said.replace(/^.*?stty: /, '');
  }
}

const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connection refused'],
  ['EHOSTUNREACH', 'no route to host'],
  ['ENETUNREACH', 'no route to network'],
  ['ENOTFOUND', 'unknown host'],
]);

/** Connects once and hangs up. */
function serverProblem({ host, port }: SerialServer): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = net.connect({ host, port, timeout: LIMITS.field.connectMs });
    const end = (problem?: string): void => {
      socket.destroy();
      resolve(problem);
    };
    socket.once('connect', () => end());
    socket.once('timeout', () => end('no answer'));
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(REFUSALS.get(error.code ?? '') ?? messageOf(error)),
    );
  });
}

/** The file that a path leads to, such as /dev/ttyUSB0 of a name below /dev/serial/by-id; the path itself while nothing is there. */
export function deviceFileOf(path: string): string {
  return unlessRefused(
    () => realpathSync(path),
    () => path,
  );
}

// Whether the system has a CAN interface, a GPIO chip or an analogue channel for us.

/** As the kernel numbers kinds of interfaces (linux/if_arp.h). */
const ARPHRD_CAN = '280';

/** Undefined: it does; else why not, for people. */
export async function canProblem(interfaceName: string): Promise<string | undefined> {
  try {
    const folder = `/sys/class/net/${interfaceName}`;
    if ((await readFile(`${folder}/type`, 'utf8')).trim() !== ARPHRD_CAN) return 'is no CAN interface';
    if ((await readFile(`${folder}/operstate`, 'utf8')).trim() === 'down')
      return 'the interface is down: its bit rate and state are set by the system';
    return await programProblem('candump', 'can-utils');
  } catch (error) {
    return problemOf(error, 'no such interface');
  }
}

/** As above. */
export async function gpioProblem(chip: string): Promise<string | undefined> {
  try {
    await access(chip, constants.R_OK | constants.W_OK);
    return await programProblem('gpiomon', 'gpiod');
  } catch (error) {
    return problemOf(error, 'no such device file');
  }
}

/** As above. */
export async function analogProblem(channel: string): Promise<string | undefined> {
  try {
    await readFile(`${channel}_input`).catch(() => readFile(`${channel}_raw`));
    return undefined;
  } catch (error) {
    return problemOf(error, 'no such channel');
  }
}

async function programProblem(name: string, packageName: string): Promise<string | undefined> {
  try {
    await access(`/usr/bin/${name}`, constants.X_OK);
    return undefined;
  } catch (error) {
    return problemOf(error, `the program ${name} is not installed, the package ${packageName} brings it`);
  }
}

function problemOf(error: unknown, absent: string): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ENOENT') return absent;
  if (code === 'EACCES') return 'permission denied; the service must be in the group of the file';
  return messageOf(error);
}
