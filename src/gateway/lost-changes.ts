/** What a start found missing at the end of a write-ahead log: named in the service log, and an alert for some days. */
import { basename, join } from 'node:path';
import { LIMITS } from '../lib/limits.ts';
import type { EpochMs } from '../lib/time.ts';
import { formatTimestamp } from '../lib/timestamp.ts';
import type { Clock } from '../platform/clock/index.ts';
import type { Config } from '../platform/config/index.ts';
import { readNote, writePrivateFile } from '../platform/files/index.ts';
import type { Log } from '../platform/log/index.ts';
import type { LostChanges } from '../platform/sqlite/index.ts';

/** In the data folder. Whoever removes it ends the alert. */
const NOTE = 'changes-lost.json';
const TOLD_INTERVAL_MS = 3_600_000;
/** G: more losses within a week are of one broken disk. */
const KEPT = 10;

interface Options {
  config: Pick<Config, 'dataDir'>;
  clock: Pick<Clock, 'wallMs'>;
  log: Log;
}

interface Loss extends LostChanges {
  file: string;
  foundAtMs: EpochMs;
}

/** Returns what notes a loss of a database file. */
export function lossNoter(options: Options): (path: string) => (lost: LostChanges) => void {
  const { config, clock, log } = options;
  return (path) =>
    ({ fromMs, toMs }) => {
      log.error('the write-ahead log is incomplete: changes may be missing', {
        database: path,
        from: formatTimestamp(fromMs),
        to: formatTimestamp(toMs),
      });
      const loss: Loss = { file: basename(path), fromMs, toMs, foundAtMs: clock.wallMs() };
      try {
        const note = JSON.stringify([...lossesOf(options), loss].slice(-KEPT));
        writePrivateFile(join(config.dataDir, NOTE), note);
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

function lossesOf({ config, log }: Options): readonly Loss[] {
  const path = join(config.dataDir, NOTE);
  const note = readNote(path, (error) =>
    log.warnLimited(path, TOLD_INTERVAL_MS, 'the note of missing changes cannot be read', { path, error }),
  );
  return Array.isArray(note) ? (note as Loss[]) : [];
}
