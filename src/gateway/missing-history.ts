/** History that is gone beside a state that had one: a new one is begun, and a person is told for some days. */
import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { LIMITS } from '../lib/limits.ts';
import { readNote, writePrivateFile } from '../platform/files/index.ts';
import { foreignPath } from '../platform/sqlite/index.ts';
import type { Infrastructure } from './infrastructure.ts';

/** In the data folder. Whoever removes it ends the alert. */
const MISSING_HISTORY_NOTE = 'history-missing.json';
const TOLD_INTERVAL_MS = 3_600_000;

interface Note {
  /** Names of files and folders. */
  missing: string[];
  foundAtMs: number;
}

/** To be called before the history is opened, on a box that had one. */
export function noteMissingHistory(
  { options: { config, clock, log }, history, journalFolder }: Infrastructure,
  siteId: string,
): void {
  // One that was set aside, as damaged or with another site's state, is not missing.
  if (history.isSalvaging || existsSync(foreignPath(history.path, siteId))) return;
  const missing = [history.path, journalFolder]
    .filter((path) => !existsSync(path))
    .map((path) => basename(path));
  if (missing.length === 0) return;
  log.error('history is missing beside state.db, a new one is begun', { missing });
  const note: Note = { missing, foundAtMs: clock.wallMs() };
  try {
    writePrivateFile(join(config.dataDir, MISSING_HISTORY_NOTE), JSON.stringify(note));
  } catch (error) {
    log.warn('the note of the missing history could not be written', { error });
  }
}

/** Names of what was missing at this or a former start, not long before this one. */
export function missingHistory({ options: { config, clock, log } }: Infrastructure): () => readonly string[] {
  const fromMs = clock.wallMs() - LIMITS.state.recoveryShownMs;
  return () => {
    const path = join(config.dataDir, MISSING_HISTORY_NOTE);
    const note = readNote(path, (error) =>
      log.warnLimited(path, TOLD_INTERVAL_MS, 'the note of a missing history cannot be read', {
        path,
        error,
      }),
    ) as Note | undefined;
    return note && note.foundAtMs >= fromMs ? note.missing : [];
  };
}
