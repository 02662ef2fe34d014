/** Which refusals of a path last until a person acts, and which may be over at the next try. */
import { constants, lstatSync, statSync, type Stats } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { staysRefused } from '../../lib/system-fault.ts';

const { R_OK, W_OK, X_OK } = constants;

/** Of a file that is the gateway's own, or of a folder. */
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

/** What stands there; or that nothing does, or that the system does not tell. */
function look(by: (path: string) => Stats, path: string): Stats | 'absent' | 'untold' {
  try {
    return by(path);
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'ENOENT' ? 'absent' : 'untold';
  }
}
