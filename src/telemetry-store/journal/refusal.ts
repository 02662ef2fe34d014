/** How long the disk has refused to give a journal. */
import { hasCode, staysRefused } from '../../lib/system-fault.ts';
import type { MonotonicMs } from '../../lib/time.ts';
import type { Clock } from '../../platform/clock/index.ts';

/** G: a drive that is plugged in again, or checked after a reset, is back by then. */
const PATIENCE_MS = 300_000;

/**
 * A drive that is away or a bus that resets gives everything again a moment later, and so does a person who took the rights
 * by mistake; a worn block never does. At first the
 * journal is asked for again; after a while, what is refused counts as damaged.
 */
export class Refusal {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  #sinceMs: MonotonicMs | undefined;

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Notes the error of an attempt, in this thread or another one; undefined: it succeeded. */
  note(error: unknown): void {
    this.#sinceMs = isOfFile(error) ? (this.#sinceMs ?? this.#clock.monotonicMs()) : undefined;
  }

  /** True: what is still refused at the next attempt is damaged. */
  get isOver(): boolean {
    return this.#sinceMs !== undefined && this.#clock.monotonicMs() - this.#sinceMs >= PATIENCE_MS;
  }
}

/** Whether waiting does not help: the path has something else than a file. Rights that were taken may be given back. */
export function isNeverGiven(error: unknown): boolean {
  return staysRefused(error) && !hasCode(error, /^EACCES$|^EPERM$/);
}

/** Databases have codes of their own. */
function isOfFile(error: unknown): boolean {
  if (isNeverGiven(error)) return false;
  return !(error instanceof Error && 'code' in error && String(error.code).startsWith('SQLITE'));
}
