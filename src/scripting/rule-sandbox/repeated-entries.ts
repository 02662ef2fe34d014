/** Log entries that come again and again: the first is written at once, the others are counted. */
import { createHash } from 'node:crypto';
import { zonedTime } from '#scripting/lua';
import type { Limits } from '../../lib/limits.ts';
import { cutToBytes } from '../../lib/text.ts';
import type { DurationMs, EpochMs, MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';
import type { LogSeverity } from '../../protocol/device-log.ts';

interface Repeated {
  severity: LogSeverity;
  /** Its beginning, because many of them are remembered. */
  text: string;
  firstAtMs: EpochMs;
  lastMs: MonotonicMs;
  /** How often it came, and how often as of its last entry. */
  count: number;
  written: number;
  /** Its next entry is written no sooner; the interval doubles. */
  nextMs: MonotonicMs;
  intervalMs: DurationMs;
  timer: { cancel(): void } | undefined;
}

interface RepeatedEntriesOptions {
  clock: Pick<Clock, 'wallMs' | 'monotonicMs' | 'setTimer'>;
  limits: Limits['rules'];
  timeZone: () => string;
  write: (severity: LogSeverity, message: string) => void;
}

const MS_PER_S = 1_000;

/**
 * Writes `37 times since 12:04: …` for entries that repeat, after a minute, then after pauses that double up to an hour.
 * One that did not come for that long is new again.
 */
export class RepeatedEntries {
  readonly #options: RepeatedEntriesOptions;
  /** By digest of the text; the one that came last is the last. */
  readonly #repeated = new Map<string, Repeated>();

  constructor(options: RepeatedEntriesOptions) {
    this.#options = options;
  }

  /** @param text the same for every repetition; @param first what is written the first time */
  add(severity: LogSeverity, text: string, first: string): void {
    const { clock, limits } = this.#options;
    const nowMs = clock.monotonicMs();
    const digest = createHash('sha1').update(text).digest('base64');
    const known = this.#repeated.get(digest);
    this.#repeated.delete(digest);
    if (known && nowMs - known.lastMs < limits.repeatedErrorMaxMs) {
      this.#repeated.set(digest, known);
      this.#count(known, nowMs);
      return;
    }
    this.#makeRoom();
    const intervalMs = limits.repeatedErrorMs;
    this.#repeated.set(digest, {
      severity,
      text: cutToBytes(text, limits.repeatedErrorBytes),
      firstAtMs: clock.wallMs(),
      lastMs: nowMs,
      count: 1,
      written: 1,
      nextMs: nowMs + intervalMs,
      intervalMs,
      timer: undefined,
    });
    this.#options.write(severity, first);
  }

  /** Writes all counts that are not written yet. */
  flush(): void {
    for (const entry of this.#repeated.values()) this.#write(entry);
  }

  #count(entry: Repeated, nowMs: MonotonicMs): void {
    entry.count++;
    entry.lastMs = nowMs;
    if (nowMs >= entry.nextMs) this.#write(entry);
    else entry.timer ??= this.#options.clock.setTimer(entry.nextMs - nowMs, () => this.#write(entry));
  }

  #write(entry: Repeated): void {
    const { clock, limits, write } = this.#options;
    entry.timer?.cancel();
    entry.timer = undefined;
    if (entry.count === entry.written) return;
    entry.written = entry.count;
    entry.intervalMs = Math.min(2 * entry.intervalMs, limits.repeatedErrorMaxMs);
    entry.nextMs = clock.monotonicMs() + entry.intervalMs;
    write(entry.severity, `${entry.count} times since ${this.#momentText(entry.firstAtMs)}: ${entry.text}`);
  }

  #makeRoom(): void {
    const [oldest] = this.#repeated;
    if (!oldest || this.#repeated.size < this.#options.limits.errorsRemembered) return;
    this.#write(oldest[1]);
    this.#repeated.delete(oldest[0]);
  }

  /** Time of day in the site's zone, with the date of another day. */
  #momentText(atMs: EpochMs): string {
    const zone = this.#options.timeZone();
    const [at, now] = [atMs, this.#options.clock.wallMs()].map((ms) => zonedTime(ms / MS_PER_S, zone));
    if (!at || !now) return '';
    const time = at.toPlainTime().toString({ smallestUnit: 'minute' });
    return at.toPlainDate().equals(now.toPlainDate()) ? time : `${at.toPlainDate().toString()} ${time}`;
  }
}
