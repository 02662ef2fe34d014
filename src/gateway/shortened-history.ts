/**
 * Data of the history that was removed before its time is shown for a day, also when the gateway starts again meanwhile. A
 * full history goes on removing, which is its normal operation: it is shown again only after a month without any removal.
 */
import { join } from 'node:path';
import type { Limits } from '../lib/limits.ts';
import type { EpochMs, MonotonicMs } from '../lib/time.ts';
import type { Clock } from '../platform/clock/index.ts';
import { readNote, writePrivateFile } from '../platform/files/index.ts';
import type { Log } from '../platform/log/index.ts';

/** In the data folder. */
const SHORTENED_HISTORY_NOTE = 'history-shortened.json';

interface Note {
  /** Time of the last removal. */
  atMs: EpochMs;
  /** Time of the first removal that followed the one before within a month. */
  sinceMs?: EpochMs;
}

interface ShortenedHistoryOptions {
  dataDir: string;
  clock: Pick<Clock, 'wallMs' | 'monotonicMs'>;
  log: Log;
  limits: Pick<Limits['history'], 'removalShownMs' | 'removalQuietMs' | 'removalNotedMs'>;
}

export class ShortenedHistory {
  readonly #options: ShortenedHistoryOptions;
  readonly #path: string;
  /** Latest count of each part. */
  readonly #counts: number[] = [];
  #removedMs: MonotonicMs = -Infinity;
  #sinceMs: MonotonicMs = -Infinity;
  #notedMs: MonotonicMs = -Infinity;

  constructor(options: ShortenedHistoryOptions) {
    this.#options = options;
    const { clock, dataDir, log } = options;
    this.#path = join(dataDir, SHORTENED_HISTORY_NOTE);
    const note = readNote(this.#path, (error) =>
      log.warn('the note that history was removed early cannot be read', { path: this.#path, error }),
    ) as Note | undefined;
    if (typeof note?.atMs !== 'number') return;
    const ageMs = clock.wallMs() - note.atMs;
    const nowMs = clock.monotonicMs();
    this.#removedMs = nowMs - Math.max(0, ageMs);
    this.#sinceMs = this.#removedMs - Math.max(0, note.atMs - (note.sinceMs ?? note.atMs));
    // Noted or read with a wrong clock: how long ago it was is not known, and no start shall begin the day anew for years.
    if (ageMs < 0) this.#noteAt(nowMs);
  }

  /** @param parts with what they removed early since they were opened; undefined: says nothing now. Always in this order */
  isRecent(parts: readonly (Readonly<{ removedEarly: number }> | undefined)[]): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    for (const [place, part] of parts.entries()) {
      if (!part) continue;
      if (part.removedEarly > (this.#counts[place] ?? 0)) {
        if (nowMs - this.#removedMs > this.#options.limits.removalQuietMs) this.#sinceMs = nowMs;
        this.#removedMs = nowMs;
        this.#noteAt(nowMs);
      }
      this.#counts[place] = part.removedEarly;
    }
    return nowMs - this.#sinceMs < this.#options.limits.removalShownMs;
  }

  /** Seldom: a full history loses something every few minutes, and the card shall last. */
  #noteAt(nowMs: MonotonicMs): void {
    const { clock, limits, log } = this.#options;
    if (nowMs - this.#notedMs < limits.removalNotedMs) return;
    this.#notedMs = nowMs;
    const atMs = clock.wallMs();
    const note: Note = { atMs, sinceMs: atMs - (this.#removedMs - this.#sinceMs) };
    try {
      writePrivateFile(this.#path, JSON.stringify(note));
    } catch (error) {
      log.warn('that history was removed early is not known after a restart', { error });
    }
  }
}
