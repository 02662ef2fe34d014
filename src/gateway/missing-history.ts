/** When the history of a state is missing, a new one is begun, and an alert is raised for some days. */
import { existsSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Auth } from '../capabilities/auth/index.ts';
import type { Devices } from '../capabilities/devices/index.ts';
import type { Provisioning } from '../capabilities/provisioning/index.ts';
import type { Site } from '../capabilities/site/index.ts';
import { LIMITS } from '../lib/limits.ts';
import { unlessRefused } from '../lib/system-fault.ts';
import type { EpochMs } from '../lib/time.ts';
import {
  isGone,
  makePrivateFolder,
  readNote,
  syncFolder,
  writePrivateFile,
} from '../platform/files/index.ts';
import { foreignPath } from '../platform/sqlite/index.ts';
import type { Infrastructure } from './infrastructure.ts';

/** In the data folder. Whoever removes it ends the alert. */
const MISSING_HISTORY_NOTE = 'history-missing.json';
const TOLD_INTERVAL_MS = 3_600_000;

interface Note {
  /** Names of files and folders. */
  missing: string[];
  foundAtMs: EpochMs;
}

interface Records {
  site: Pick<Site, 'get'>;
  auth: Pick<Auth, 'claim'>;
  devices: Pick<Devices, 'all'>;
  provisioning: Pick<Provisioning, 'own'>;
}

/** To be called before the history is opened. */
export function noteMissingHistory(infrastructure: Infrastructure, records: Records): void {
  tellMissing(infrastructure, records);
  keepJournalFolder(infrastructure);
}

/** Made before its first segment, which comes once the clock is set: otherwise a missing folder would not be a loss. */
function keepJournalFolder({ options, journalFolder }: Infrastructure): void {
  if (existsSync(journalFolder)) return;
  try {
    makePrivateFolder(journalFolder);
    syncFolder(dirname(journalFolder));
  } catch (error) {
    options.log.warn('the folder of the telemetry journal could not be made yet', { error });
  }
}

function tellMissing(infrastructure: Infrastructure, records: Records): void {
  const { options, history, journalFolder, hadState } = infrastructure;
  const { config, clock, log } = options;
  const { id: siteId } = records.site.get();
  // A first start that the power cut off leaves a state, and no history yet.
  if (!hadState || !isInUse(records)) return;
  const missing = [history.path, journalFolder]
    .filter((path) => isGone(path) || isEmptyFile(path))
    .map((path) => basename(path));
  if (missing.length === 0) return;
  // One that was set aside with another site's state is not missing.
  if (!isGone(foreignPath(history.path, siteId))) return;
  log.error('history is missing beside state.db, a new one is begun', { missing });
  const note: Note = { missing, foundAtMs: clock.wallMs() };
  try {
    writePrivateFile(join(config.dataDir, MISSING_HISTORY_NOTE), JSON.stringify(note));
  } catch (error) {
    log.warn('the note of the missing history could not be written', { error });
  }
}

/** A power cut or a person may leave an empty file, which SQLite takes for a new database. */
function isEmptyFile(path: string): boolean {
  return unlessRefused(
    () => statSync(path).isFile() && statSync(path).size === 0,
    () => false,
  );
}

function isInUse({ auth, devices, provisioning: { own } }: Records): boolean {
  return (
    auth.claim.isClaimed() || devices.all().some(({ id }) => id !== own.gateway.id && id !== own.module.id)
  );
}

/** Names of what was missing at this or a former start, not long before this one. */
export function missingHistory({
  options: { config, clock, log },
}: Pick<Infrastructure, 'options'>): () => readonly string[] {
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
