/** Whether a device file is a serial line that this program may use, or a serial server answers. */
import { execFile } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { access, constants, stat } from 'node:fs/promises';
import net from 'node:net';
import { promisify } from 'node:util';
import { messageOf } from '../../lib/errors.ts';
import { LIMITS } from '../../lib/limits.ts';
import { isSerialServer, parseSerialServer, type SerialServer } from '../../lib/serial-server.ts';
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
