/**
 * A restored copy that sends nothing, so that it can be looked at while the original works. Its mark comes with the
 * restore, is there before the restored state is, and stays until an owner ends the rehearsal.
 */
import { join } from 'node:path';
import type { EpochMs } from '../../lib/time.ts';
import { isThere, readNote, removeFile, syncFolder, writePrivateFile } from '../files/index.ts';
import type { Log } from '../log/index.ts';
import { REHEARSAL_FILE } from './layout.ts';

/** Facts about the rehearsal that this gateway is. */
export interface Rehearsal {
  /** When the restore was prepared; undefined: the mark does not say. */
  beganAtMs: EpochMs | undefined;
}

/** Puts the mark into a restore that is being prepared. */
export function markRehearsal(draft: string, beganAtMs: EpochMs): void {
  writePrivateFile(join(draft, REHEARSAL_FILE), JSON.stringify({ beganAtMs }));
}

/** At a start, which the log says. Undefined: it is none. A mark that cannot be read counts, since nothing shall be sent by mistake. */
export function rehearsalIn(dataDir: string, log: Log): Rehearsal | undefined {
  const path = join(dataDir, REHEARSAL_FILE);
  if (!isThere(path)) return undefined;
  const note = readNote(path, (error) =>
    log.warn('the mark of a rehearsal cannot be read', { path, error }),
  ) as Partial<Rehearsal> | undefined;
  log.warn(
    'this is a rehearsal of a restored backup: nothing is sent, and no rule runs, until an owner ends it',
    {
      end: 'POST /v3/backup/rehearsal/end, or the local command end-rehearsal',
    },
  );
  return { beganAtMs: typeof note?.beganAtMs === 'number' ? note.beganAtMs : undefined };
}

/** Whether the next start is one. */
export const isRehearsalDue = (dataDir: string): boolean => isThere(join(dataDir, REHEARSAL_FILE));

/** The next start sends again. */
export function endRehearsal(dataDir: string): void {
  removeFile(join(dataDir, REHEARSAL_FILE));
  syncFolder(dataDir);
}
