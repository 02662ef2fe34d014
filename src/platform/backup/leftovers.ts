/** What a cut of power left of backups and restores: it may be as large as the whole history, and nobody goes on with it. */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Log } from '../log/index.ts';
import {
  BACKUPS_FOLDER,
  BEING_CHECKED,
  BEING_MADE,
  OUTGOING,
  READ_BACK,
  RESTORE_DRAFT,
  UPLOADED,
} from './layout.ts';
import { removeTree } from '../files/index.ts';

const UNFINISHED = [BEING_MADE, BEING_CHECKED, OUTGOING, READ_BACK, UPLOADED];

/** At a start, before anything is made or uploaded. What cannot be removed is told and stays. */
export function removeLeftovers({ dataDir, log }: { dataDir: string; log: Log }): void {
  try {
    for (const path of leftoversIn(dataDir)) {
      removeTree(path);
      log.info('what was left of a backup was removed', { path });
    }
  } catch (error) {
    log.warn('what was left of a backup cannot be removed', { error });
  }
}

function leftoversIn(dataDir: string): string[] {
  const folder = join(dataDir, BACKUPS_FOLDER);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const paths = names
    .filter((name) => UNFINISHED.some((begin) => name.startsWith(begin)))
    .map((name) => join(folder, name));
  return [...paths, join(dataDir, RESTORE_DRAFT)].filter((path) => existsSync(path));
}
