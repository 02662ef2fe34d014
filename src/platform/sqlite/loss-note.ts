/**
 * Findings at the end of a write-ahead log, when changes are missing: in the service log, and in a note of the data folder,
 * from which an alert is raised for some days.
 */
import { basename, join } from 'node:path';
import { LIMITS } from '../../lib/limits.ts';
import { type EpochMs, formatTimestamp } from '../../lib/time.ts';
import type { Clock } from '../clock/index.ts';
import { readNote, writePrivateFile } from '../files/index.ts';
import type { Log } from '../log/index.ts';
import type { LostChanges } from './log-evidence.ts';

/** Removing it ends the alert. */
const NOTE = 'changes-lost.json';
const REPORTED_INTERVAL_MS = 3_600_000;
/** More losses within a week are of one broken disk. */
const KEPT = 10;

interface Options {
  dataDir: string;
  clock: Pick<Clock, 'wallMs'>;
  log: Log;
}

interface Loss extends LostChanges {
  file: string;
  foundAtMs: EpochMs;
}

/** Returns the function that notes a loss of a database file. */
export function lossNoter(options: Options): (path: string) => (lost: LostChanges) => void {
  const { dataDir, clock, log } = options;
  return (path) =>
    ({ fromMs, toMs }) => {
      const times = { from: formatTimestamp(fromMs), to: formatTimestamp(toMs) };
      log.error('the write-ahead log is incomplete: changes may be missing', { database: path, ...times });
      const loss: Loss = { file: basename(path), fromMs, toMs, foundAtMs: clock.wallMs() };
      try {
        writePrivateFile(join(dataDir, NOTE), JSON.stringify([...lossesOf(options), loss].slice(-KEPT)));
      } catch (error) {
        log.warn('the note of missing changes could not be written', { error });
      }
    };
}

/** Sentences about the losses of the last days, for the alert. */
export function recentLosses(options: Options): () => readonly string[] {
  const shownFromMs = options.clock.wallMs() - LIMITS.state.recoveryShownMs;
  return () =>
    lossesOf(options)
      .filter(({ foundAtMs }) => foundAtMs >= shownFromMs)
      .map(({ file, fromMs, toMs }) => `${file} from ${formatTimestamp(fromMs)} to ${formatTimestamp(toMs)}`);
}

function lossesOf({ dataDir, log }: Options): readonly Loss[] {
  const path = join(dataDir, NOTE);
  const note = readNote(path, (error) =>
    log.warnLimited(path, REPORTED_INTERVAL_MS, 'the note of missing changes cannot be read', {
      path,
      error,
    }),
  );
  return Array.isArray(note) ? (note as Loss[]) : [];
}
