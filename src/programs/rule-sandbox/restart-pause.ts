import type { Limits } from '../../lib/limits.ts';

/**
 * Pause before a rule that failed starts again: doubles up to a maximum, falls back after good running
 * (lua-rule-api.md 5). `lastMs` is the pause before this run, 0 if there was none.
 */
export function restartPauseMs(
  lastMs: number,
  ranMs: number,
  limits: Pick<Limits['rules'], 'restartFirstMs' | 'restartMaxMs' | 'stableMs'>,
): number {
  const { restartFirstMs, restartMaxMs, stableMs } = limits;
  return lastMs === 0 || ranMs >= stableMs ? restartFirstMs : Math.min(lastMs * 2, restartMaxMs);
}
