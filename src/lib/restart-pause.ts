/**
 * Pause before something that failed starts again: doubles up to a maximum, falls back after good running. `lastMs`
 * is the pause before this run, 0 if there was none.
 */
export function restartPauseMs(
  lastMs: number,
  ranMs: number,
  limits: { restartFirstMs: number; restartMaxMs: number; stableMs: number },
): number {
  const { restartFirstMs, restartMaxMs, stableMs } = limits;
  return lastMs === 0 || ranMs >= stableMs ? restartFirstMs : Math.min(lastMs * 2, restartMaxMs);
}
