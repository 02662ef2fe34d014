/** What the command lines of both simulators share: how long they run, and the simulated day. */
import { decimal, whole } from '../support/arguments.ts';

export interface DayOptions {
  timeScale: number;
  /** Undefined: now. */
  hourOfDay: number | undefined;
  socPercent: number;
  mishapsPerDay: number;
  /** Undefined: a new one, printed. */
  seed: number | undefined;
  /** Undefined: until interrupted. */
  forMs: number | undefined;
}

export const DAY_HELP = `  --hour H             time of day at the start, 0 to 24 (default: now)
  --soc PERCENT        state of charge at the start (default 55)
  --mishaps N          grid failures, stuck fans and broken lines per simulated day, each (default 1)
  --seed N             repeat a run (default: a new seed, printed)`;

/** An option that takes a text. */
export const TEXT = { type: 'string' } as const;

export const DAY_ARGUMENTS = {
  help: { type: 'boolean' },
  for: TEXT,
  'time-scale': TEXT,
  hour: TEXT,
  soc: TEXT,
  mishaps: TEXT,
  seed: TEXT,
} as const;

/** @throws UsageError */
export function dayOf(words: {
  for?: string | undefined;
  'time-scale'?: string | undefined;
  hour?: string | undefined;
  soc?: string | undefined;
  mishaps?: string | undefined;
  seed?: string | undefined;
}): DayOptions {
  const forS = decimal('for', words.for, 0.1, 31_536_000);
  return {
    timeScale: decimal('time-scale', words['time-scale'], 0.001, 100_000) ?? 1,
    hourOfDay: decimal('hour', words.hour, 0, 24),
    socPercent: decimal('soc', words.soc, 0, 100) ?? 55,
    mishapsPerDay: decimal('mishaps', words.mishaps, 0, 1_000) ?? 1,
    seed: whole('seed', words.seed, 0, 2 ** 32 - 1),
    forMs: forS === undefined ? undefined : forS * 1_000,
  };
}
