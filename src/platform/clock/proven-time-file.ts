/** Keeps the proven time over restarts, in a small file of the data folder. */
import { statSync } from 'node:fs';
import type { EpochMs } from '../../lib/time.ts';
import { readNote, writePrivateFile } from '../files/index.ts';
import type { Clock } from './clock.ts';

/** A kill costs this much of the age of everything, which is then deleted so much later; each time costs the card a new file. */
const SAVE_INTERVAL_MS = 600_000;

/**
 * Resumes the proven time of the last run and saves it from now on: regularly, and at once when the clock
 * jumped. Without a file, as after an update of a version that had none, nothing is newer than `witnessPath` was
 * changed (pass the main database, before it is opened). A file that cannot be read is reported to `onUnreadable`. One that
 * cannot be written is reported to `onFailure` and tried again: time is then proven from what was saved last, which is always
 * safe.
 */
export function keepProvenTime(options: {
  clock: Clock;
  path: string;
  witnessPath: string;
  onUnreadable: (error: unknown) => void;
  onFailure: (error: unknown) => void;
}) {
  const { clock, path, onUnreadable, onFailure } = options;
  const known = readProven(path, onUnreadable) ?? changedAtMs(options.witnessPath);
  if (known !== undefined) clock.proven.resume(known);

  function save(): void {
    const provenMs = clock.proven.nowMs();
    if (provenMs === undefined) return;
    try {
      writePrivateFile(path, `${JSON.stringify({ proven_ms: Math.floor(provenMs) })}\n`);
    } catch (error) {
      onFailure(error);
    }
  }

  save();
  const timer = clock.setRepeating(SAVE_INTERVAL_MS, save);
  const stopListening = clock.onStepped(save);
  return {
    stop: () => {
      timer.cancel();
      stopListening();
      save();
    },
  };
}

/** Undefined when there is no such file, or nothing that can be used; what cannot be read is reported. */
function readProven(path: string, onUnreadable: (error: unknown) => void): number | undefined {
  const note = readNote(path, onUnreadable) as { proven_ms?: unknown } | undefined;
  const provenMs = note?.proven_ms;
  return typeof provenMs === 'number' && Number.isFinite(provenMs) ? provenMs : undefined;
}

function changedAtMs(path: string): EpochMs | undefined {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs;
}
